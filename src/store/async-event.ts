/** Wakes one waiter. An event that is set without a waiter is kept for the next wait, which clears it. */
export class AsyncEvent {
  #isSet = false;
  #resolve: (() => void) | undefined;

  set(): void {
    this.#isSet = true;
    this.#resolve?.();
  }

  /** Resolves when the event is set, when the signal fires, or after `timeoutMs` if that is given. */
  async wait(signal: AbortSignal, timeoutMs?: number): Promise<void> {
    if (!this.#isSet && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const done = () => {
          clearTimeout(timer);
          signal.removeEventListener('abort', done);
          resolve();
        };
        const timer = timeoutMs === undefined ? undefined : setTimeout(done, timeoutMs);
        this.#resolve = done;
        signal.addEventListener('abort', done, { once: true });
      });
    }
    this.#resolve = undefined;
    this.#isSet = false;
  }
}
