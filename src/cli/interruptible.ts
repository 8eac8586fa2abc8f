/** Runs work whose signal Ctrl-C aborts, as do the end of the terminal and that of the program that reads the output. */
import { constants } from 'node:os';
import { ignoresHangup } from './hangup.ts';
import { brokenPipe, onReaderGone, ReaderGone } from './terminal.ts';

const interrupts: NodeJS.Signals[] = ['SIGINT', 'SIGTERM', ...(ignoresHangup() ? [] : (['SIGHUP'] as const))];

class Interrupted extends Error {
  readonly signal: NodeJS.Signals;

  constructor(signal: NodeJS.Signals) {
    super('Interrupted.');
    this.signal = signal;
  }
}

export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const abort = new AbortController();
  const interrupt = (signal: NodeJS.Signals) => abort.abort(new Interrupted(signal));
  for (const signal of interrupts) process.once(signal, interrupt);
  onReaderGone(() => interrupt('SIGPIPE'));
  try {
    return await work(abort.signal);
  } finally {
    for (const signal of interrupts) process.off(signal, interrupt);
    onReaderGone(null);
  }
}

/** The exit status of a command that failed. For an interrupt it is the one that shells report for a program ended by the signal. */
export function statusOf(error: unknown): number {
  if (error instanceof ReaderGone) return brokenPipe;
  if (error instanceof Interrupted) return 128 + constants.signals[error.signal];
  return error instanceof Error && error.cause !== undefined ? statusOf(error.cause) : 1;
}
