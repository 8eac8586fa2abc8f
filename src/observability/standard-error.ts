/**
 * Standard error as the destination of the log. Pino's own destination ends or freezes the process when the disk of a log file is
 * full: it reports the failed write to nobody, and when the process exits it repeats the write for ever.
 */
import { write, writeSync } from 'node:fs';

const fd = 2;
/** characters that wait for a slow reader or a full disk; further lines are dropped */
const longestBacklog = 1_000_000;
const retryMs = 100;
/** attempts to write the rest at exit, if the reader is slow */
const lastAttempts = 10;

export class StandardError {
  #waiting = Buffer.alloc(0);
  #next: string[] = [];
  #nextLength = 0;
  #isWriting = false;
  #retry: NodeJS.Timeout | undefined;

  constructor() {
    process.once('exit', () => this.#flush());
  }

  /** Does not throw, and does not wait. */
  write(line: string): void {
    if (this.#nextLength + line.length > longestBacklog) return;
    this.#next.push(line);
    this.#nextLength += line.length;
    if (this.#retry === undefined) this.#write();
  }

  #write(): void {
    if (this.#isWriting || !this.#take()) return;
    this.#isWriting = true;
    write(fd, this.#waiting, (error, written) => {
      this.#isWriting = false;
      this.#waiting = this.#waiting.subarray(written ?? 0);
      if (error === null) return this.#write();
      // Nobody reads it any more.
      if (error.code === 'EPIPE') this.#waiting = Buffer.alloc(0);
      else this.#retryLater();
    });
  }

  /** Whether there is anything to write. The rest of an incomplete write comes first. */
  #take(): boolean {
    if (this.#waiting.length === 0) {
      this.#waiting = Buffer.from(this.#next.join(''));
      this.#next = [];
      this.#nextLength = 0;
    }
    return this.#waiting.length > 0;
  }

  #retryLater(): void {
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      this.#write();
    }, retryMs).unref();
  }

  /** The process itself waits for a write that is running. */
  #flush(): void {
    if (this.#isWriting) this.#waiting = Buffer.alloc(0);
    for (let attempt = 1; attempt <= lastAttempts && this.#take(); ) {
      try {
        this.#waiting = this.#waiting.subarray(writeSync(fd, this.#waiting));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return;
        attempt += 1;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryMs);
      }
    }
  }
}
