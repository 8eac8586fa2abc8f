/** What the console needs beside the API; an API that is built without it has none of the console's addresses. */
import type { Passwords } from '../../domain/passwords.ts';
import type { KeptUpload, Upload } from '../../storage/uploads.ts';
import type { Store } from '../../store/index.ts';
import type { WithStreams } from '../deps.ts';

export interface Uploads {
  /**
   * Keeps the file and returns an address that live jobs may use. Throws ReelmendError `payload_too_large`,
   * `invalid_request` for an empty one, `rate_limit_exceeded` over the account's quota, or `service_unavailable`
   * without room on disk; nothing is kept then.
   */
  save(body: AsyncIterable<Uint8Array>, upload: Upload): Promise<KeptUpload>;
}

export interface ConsoleDeps {
  store: Store;
  passwords: Passwords;
  /** folder of the built page; the page answers 404 as long as it is not built */
  pageDir: string;
  /** whether cookies are sent over https only */
  secureCookies: boolean;
  /** origins of the page beside the address that the browser asked (behind a proxy that changes Host) */
  origins: readonly string[];
  /** origins that videos are played from beside the page's own */
  mediaOrigins: readonly string[];
  /** address of the bundled sample that live jobs can fetch; null where there is none */
  sampleUrl: string | null;
  /** takes files of a local demo; absent elsewhere */
  uploads?: Uploads;
  /** `closed`: sign-ups are refused, and the page offers none */
  signUp: 'open' | 'closed';
  /** reverse proxies in front, whose X-Forwarded-For is believed */
  proxyHops: number;
}

export type WithConsole = WithStreams & { console: ConsoleDeps };
