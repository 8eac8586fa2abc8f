/** The guarded HTTP client: every outgoing request to a customer's address goes through it. */
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
  /** of the reply's body, what is more is not read */
  maxReplyBytes: number;
  signal?: AbortSignal;
}

export interface PostReply {
  /** any status: a redirect is an answer like others and is not followed */
  status: number;
  /** lower-case names, repeated ones joined with a comma */
  headers: Record<string, string>;
  body: Uint8Array;
}

/** What createNetClient gives: the video side and the side that webhooks use, behind the same guard. */
export interface GuardedClient extends NetClient {
  /**
   * Refuses a URL for what it says (scheme, port, name, literal address) without any request; names are not
   * resolved. Throws ReelmendError `url_not_allowed`.
   */
  checkUrl(url: string): void;
  /**
   * One POST, never repeated, no redirects. Rejects with ReelmendError `url_not_allowed`, with NetFailure (its
   * `reason` and public half sentence), or with the signal's reason.
   */
  post(url: string, options: PostOptions): Promise<PostReply>;
}
