/** Open streams of events: how many there may be, and whose time is over. One look at a time for all of a process. */
import { ReelmendError } from '../domain/errors.ts';

export interface StreamOwner {
  /** id of the key, or of the console's session, that opened the stream */
  credential: string;
  accountId: string;
}

export interface OpenStream {
  /** aborted when the credential has ended */
  signal: AbortSignal;
  /** the stream is over */
  close(): void;
}

export interface Streams {
  /** Throws ReelmendError `rate_limit_exceeded` when the credential or its account has too many open. */
  open(owner: StreamOwner): OpenStream;
}

export interface StreamsOptions {
  /** those of the credentials that may still be used */
  usable(credentials: string[]): Promise<Set<string>>;
  /** in each process; default 100 */
  perCredential?: number;
  /** in each process; default 200 */
  perAccount?: number;
  /** ms between two looks at the credentials of the open streams; default 5000 */
  checkMs?: number;
}

/** seconds after which one of the streams may have ended */
const retryAfterS = 5;

interface Entry {
  owner: StreamOwner;
  ended: AbortController;
}

export function createStreams({ usable, perCredential = 100, perAccount = 200, checkMs = 5000 }: StreamsOptions): Streams {
  const entries = new Set<Entry>();
  let timer: NodeJS.Timeout | undefined;

  const count = (name: keyof StreamOwner, value: string) =>
    [...entries].filter(({ owner }) => owner[name] === value).length;

  function assertRoom({ credential, accountId }: StreamOwner): void {
    if (count('credential', credential) < perCredential && count('accountId', accountId) < perAccount) return;
    const message = `At most ${perCredential} event streams can be open for a key, and ${perAccount} for its account. Close some, or poll.`;
    throw new ReelmendError('rate_limit_exceeded', message, { retryAfterS });
  }

  async function check(): Promise<void> {
    // A look that fails ends nothing: the next one tells.
    const live = await usable([...new Set([...entries].map(({ owner }) => owner.credential))]).catch(() => undefined);
    if (live !== undefined) for (const { owner, ended } of entries) if (!live.has(owner.credential)) ended.abort();
    timer = entries.size > 0 ? later() : undefined;
  }
  const later = () => setTimeout(() => void check(), checkMs).unref();

  return {
    open(owner) {
      assertRoom(owner);
      const entry = { owner, ended: new AbortController() };
      entries.add(entry);
      timer ??= later();
      return { signal: entry.ended.signal, close: () => void entries.delete(entry) };
    },
  };
}
