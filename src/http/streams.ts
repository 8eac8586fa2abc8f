/** Limits the open event streams, and ends those whose credential was revoked. One check covers all streams of a process. */
import { ReelmendError } from '../domain/errors.ts';

export interface StreamOwner {
  /** id of the key or console session that opened the stream */
  credential: string;
  accountId: string;
}

export interface OpenStream {
  /** aborted when the credential is no longer valid, and when the process stops */
  signal: AbortSignal;
  /** must be called when the stream ends */
  close(): void;
}

export interface Streams {
  /** Throws ReelmendError `rate_limit_exceeded` if the credential or its account has too many open streams. */
  open(owner: StreamOwner): OpenStream;
}

export interface StreamsOptions {
  /** returns which of the credentials are still valid */
  usable(credentials: string[]): Promise<Set<string>>;
  /** streams per credential in each process; default 100 */
  perCredential?: number;
  /** streams per account in each process; default 200 */
  perAccount?: number;
  /** ms between two checks of the credentials; default 5000 */
  checkMs?: number;
  /** ends all streams when it is aborted */
  stopping?: AbortSignal | undefined;
}

/** seconds until another stream may have ended */
const retryAfterS = 5;

interface Entry {
  owner: StreamOwner;
  ended: AbortController;
}

export function createStreams({ usable, perCredential = 100, perAccount = 200, checkMs = 5000, stopping }: StreamsOptions): Streams {
  const entries = new Set<Entry>();
  let timer: NodeJS.Timeout | undefined;

  const count = (name: keyof StreamOwner, value: string) =>
    [...entries].filter(({ owner }) => owner[name] === value).length;

  function assertBelowLimits({ credential, accountId }: StreamOwner): void {
    if (count('credential', credential) < perCredential && count('accountId', accountId) < perAccount) return;
    const message = `At most ${perCredential} event streams can be open for a key, and ${perAccount} for its account. Close some, or poll.`;
    throw new ReelmendError('rate_limit_exceeded', message, { retryAfterS });
  }

  async function check(): Promise<void> {
    // A failed check ends no stream; the next check decides.
    const checked = [...entries];
    const live = await usable([...new Set(checked.map(({ owner }) => owner.credential))]).catch(() => undefined);
    // Only these: a stream that was opened during the query may have a credential that was not checked.
    if (live !== undefined) for (const { owner, ended } of checked) if (!live.has(owner.credential)) ended.abort();
    timer = entries.size > 0 ? scheduleCheck() : undefined;
  }
  stopping?.addEventListener('abort', () => entries.forEach(({ ended }) => ended.abort()));
  const scheduleCheck = () => setTimeout(() => void check(), checkMs).unref();

  return {
    open(owner) {
      assertBelowLimits(owner);
      const entry = { owner, ended: new AbortController() };
      entries.add(entry);
      if (stopping?.aborted === true) entry.ended.abort();
      timer ??= scheduleCheck();
      return { signal: entry.ended.signal, close: () => void entries.delete(entry) };
    },
  };
}
