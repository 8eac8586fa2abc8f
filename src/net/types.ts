/** The guarded HTTP client: every outgoing request to a customer's URL goes through it. */
import type { ByteSource } from '../media/types.ts';

export interface RemoteVideo extends ByteSource {
  /** the strong ETag; null when the server sends none */
  readonly etag: string | null;
  close(): Promise<void>;
}

export interface NetClient {
  /**
   * Opens a remote video for ranged reading. Rejects with ReelmendError `url_not_allowed`,
   * `video_unreachable` or `video_too_large`. A server without ranges is read forward up to `maxForwardBytes`.
   */
  openVideo(url: string, options: { maxBytes: number; signal?: AbortSignal }): Promise<RemoteVideo>;
  /**
   * Downloads a video into a file. Rejects as openVideo does; a partial file is removed.
   */
  download(
    url: string,
    path: string,
    options: { maxBytes: number; signal?: AbortSignal },
  ): Promise<{ bytes: number; sha256: string; etag: string | null }>;
  close(): Promise<void>;
}

export interface PostOptions {
  /** lower-case names; Content-Length, Host and Accept-Encoding are the client's own */
  headers: Record<string, string>;
  body: Uint8Array | string;
  /** for the whole exchange, ms */
  timeoutMs: number;
  /** bytes of the response's body that are read at most */
  maxResponseBytes: number;
  signal?: AbortSignal;
}

export interface PostResponse {
  /** any status; a redirect is not followed */
  status: number;
  /** lower-case names, repeated ones joined with a comma */
  headers: Record<string, string>;
  body: Uint8Array;
}

/** The client of createNetClient: NetClient for videos, and what webhooks need, behind the same guard. */
export interface GuardedClient extends NetClient {
  /**
   * Checks the URL itself (scheme, port, name, IP address), without a request and without resolving names. Throws
   * ReelmendError `url_not_allowed`.
   */
  checkUrl(url: string): void;
  /**
   * One POST, without retries or redirects. Rejects with ReelmendError `url_not_allowed`, with NetFailure, or with the
   * signal's reason.
   */
  post(url: string, options: PostOptions): Promise<PostResponse>;
}

/** The part of pino's logger that the client uses. */
export interface NetLogger {
  debug(facts: object, message: string): void;
  warn(facts: object, message: string): void;
}
