/** What the API is built from; main.ts makes the real ones, tests make fakes. */
import type { SourceFacts } from '../domain/job.ts';
import type { FilesystemStorage } from '../storage/filesystem.ts';
import type { Storage } from '../storage/types.ts';
import type { HttpStore } from '../store/types.ts';

/** The part of pino that http uses. */
export interface HttpLogger {
  debug(facts: object, message: string): void;
  info(facts: object, message: string): void;
  error(facts: object, message: string): void;
}

export interface HttpDeps {
  store: HttpStore;
  /** Links of the filesystem storage are served by this API; those of S3 lead to the bucket. */
  storage: Storage | FilesystemStorage;
  /**
   * Measures a remote video by reading only what the demuxer asks for. Rejects with FrameliftError
   * `url_not_allowed`, `video_unreachable`, `video_too_large`, `video_too_long` or `unreadable_video`; an aborted
   * signal ends it soon.
   */
  measure(url: string, signal: AbortSignal): Promise<SourceFacts>;
  /** server secret under which keys are hashed */
  keyPepper: string;
  /** openapi.yaml as authored */
  description: string;
  logger: HttpLogger;
  options?: HttpOptions;
}

export interface HttpOptions {
  /** ms that the measurement inside POST /v1/jobs may take; default 19,000, so that the call answers within 20 s */
  measureTimeoutMs?: number;
  /** bytes of a request body; default 65,536 */
  bodyLimitBytes?: number;
  /** names of installed models beside `auto` and `none`; default: no others */
  models?: readonly string[];
}
