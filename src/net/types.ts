/** The guarded HTTP client: every outgoing request to a customer's address goes through it. */
import type { ByteSource } from '../media/types.ts';

export interface RemoteVideo extends ByteSource {
  /** the final URL after redirects */
  readonly url: string;
  /** whether the server honours Range requests */
  readonly ranged: boolean;
  /** ETag or Last-Modified, to notice a source that changes; null when neither is sent */
  readonly validator: string | null;
  close(): Promise<void>;
}

export interface NetClient {
  /**
   * Opens a remote video for ranged reading. Rejects with FrameliftError `url_not_allowed`,
   * `video_unreachable` or `video_too_large`. A server without ranges is read forward up to `maxForwardBytes`.
   */
  openVideo(url: string, options: { maxBytes: number; signal?: AbortSignal }): Promise<RemoteVideo>;
  /**
   * Downloads a video into a file. Rejects as openVideo does; a partial file is removed.
   */
  download(
    url: string,
    path: string,
    options: { maxBytes: number; signal?: AbortSignal; onProgress?: (bytes: number, total: number | null) => void },
  ): Promise<{ bytes: number; sha256: string; url: string }>;
  close(): Promise<void>;
}
