/** Runs work whose signal Ctrl-C aborts. */
export async function interruptible(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const abort = new AbortController();
  const interrupt = () => abort.abort(new Error('Interrupted.'));
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  try {
    await work(abort.signal);
  } finally {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
}
