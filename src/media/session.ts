/**
 * One call of a media child from start to end: told what to do, served, watched, ended. Settles only when the process
 * is gone, so that nothing is written after a promise has settled.
 */
import type { z } from 'zod';
import type { BlockReader } from './blocks.ts';
import type { ChildPlan } from './confinement.ts';
import { type ChildFailure, crashed, failureFromChild, misbehaved, outOfMemory, timedOut } from './failures.ts';
import { fromChild } from './messages.ts';
import { type ChildListener, type Ending, MediaProcess } from './process.ts';
import type { Progress } from './types.ts';
import type { Frame, ToChild } from './wire.ts';

export interface ChildCall<T> {
  plan: ChildPlan;
  message: ToChild;
  /** shape of the result; anything else is a failure of the child */
  result: z.ZodType<T>;
  /** serves the child's reads; without it a read is a failure of the child */
  source?: BlockReader | undefined;
  signal?: AbortSignal | undefined;
  onProgress?: ((progress: Progress) => void) | undefined;
  /** told once the addon has been given the job */
  onBegun?: (() => void) | undefined;
  /** told once the process runs (tests, logs) */
  onStart?: ((pid: number) => void) | undefined;
  /** a child that waits for this call, started with the same plan but for the time; default: a new one */
  waiting?: MediaProcess | undefined;
}

/** A child that waited ended before it told of any work: another child may do it, and tells if the video was the reason. */
export class NotBegun extends Error {
  override readonly name = 'NotBegun';
}

/** After its answer the child may end by itself for this long. */
const graceMs = 2000;
/**
 * After a cancellation, less: the engine stops between two frames, which on a busy machine can take seconds,
 * and nothing of its work is kept anyway (its output folder is taken away with all that is in it).
 */
const cancelGraceMs = 150;

/** Rejects with ReelmendError, with the source's own rejection, with the reason of the signal, or with NotBegun. */
export function runChild<T>(call: ChildCall<T>): Promise<T> {
  if (call.signal?.aborted === true) {
    call.waiting?.kill();
    call.signal.throwIfAborted();
  }
  return new Session(call).done;
}

class Session<T> implements ChildListener {
  readonly done: Promise<T>;
  readonly #call: ChildCall<T>;
  readonly #child: MediaProcess;
  readonly #reads = new AbortController();
  readonly #cleanups: (() => void)[] = [];
  #settle: (ending: Ending) => void = () => {};
  #verdict: { error: unknown } | undefined;
  #answer: { value: unknown } | { failure: ChildFailure } | undefined;
  #begun: boolean;
  #reading = false;
  #fraction = 0;

  constructor(call: ChildCall<T>) {
    this.#call = call;
    this.#begun = call.waiting === undefined;
    this.done = new Promise((resolve, reject) => {
      this.#settle = (ending) => this.#conclude(ending, resolve, reject);
    });
    this.#child = call.waiting ?? new MediaProcess(call.plan, this);
    call.waiting?.hand(this);
    const { timeoutMs } = call.plan.limits;
    this.#after(timeoutMs, () => this.#end(timedOut(timeoutMs)));
    const abort = () => this.#cancel(call.signal?.reason);
    call.signal?.addEventListener('abort', abort, { once: true });
    this.#cleanups.push(() => call.signal?.removeEventListener('abort', abort));
    this.#child.send(call.message);
    if (this.#child.pid !== undefined) call.onStart?.(this.#child.pid);
  }

  frame(frame: Frame): void {
    if (this.#verdict !== undefined) return;
    if (frame.kind !== 'json') throw new TypeError('the media child sent bytes');
    const message = fromChild.parse(frame.value);
    if (message.type === 'ready') throw new TypeError('the media child waits for a job that it has');
    // A child may die with its last word unsaid: what begins is not work yet.
    if (message.type !== 'begun') this.#begun = true;
    if (message.type === 'progress') this.#progress(message.progress);
    else if (message.type === 'begun') this.#call.onBegun?.();
    else if (message.type === 'read') void this.#serve(message.id, message.offset, message.length);
    else if (message.type === 'result' || message.type === 'error') {
      this.#answer ??= message.type === 'result' ? { value: message.value } : { failure: message };
      this.#child.hangUp();
      this.#after(graceMs, () => this.#kill());
    }
  }

  fault(error: unknown): void {
    if (this.#verdict === undefined) this.#end(misbehaved(error));
  }

  memoryExceeded(bytes: number): void {
    this.#end(outOfMemory(bytes, this.#child.plan.limits.memoryBytes));
  }

  ended(ending: Ending): void {
    if (ending.error !== undefined) this.#verdict ??= { error: misbehaved(ending.error) };
    this.#settle(ending);
  }

  #after(ms: number, act: () => void): void {
    const timer = setTimeout(act, ms);
    this.#cleanups.push(() => clearTimeout(timer));
  }

  #progress(progress: Progress): void {
    this.#fraction = Math.max(this.#fraction, progress.fraction);
    try {
      this.#call.onProgress?.({ ...progress, fraction: this.#fraction });
    } catch (error) {
      this.#end(error);
    }
  }

  /** The child asks one read at a time; more at once is none of ours. */
  async #serve(id: number, offset: number, length: number): Promise<void> {
    const source = this.#call.source;
    if (source === undefined || this.#reading || this.#answer !== undefined) {
      this.#end(misbehaved(new Error('the media child asked for bytes out of turn')));
      return;
    }
    this.#reading = true;
    try {
      const bytes = await source.read(offset, length, this.#reads.signal);
      this.#reading = false;
      this.#child.sendBytes(id, bytes);
    } catch (error) {
      this.#end(error);
    }
  }

  /** The engine is asked to stop; then it is made to. */
  #cancel(reason: unknown): void {
    if (this.#verdict !== undefined) return;
    this.#verdict = { error: reason };
    this.#reads.abort(reason);
    this.#child.send({ op: 'cancel' });
    this.#after(cancelGraceMs, () => this.#kill());
  }

  #end(error: unknown): void {
    this.#verdict ??= { error };
    this.#kill();
  }

  #kill(): void {
    this.#reads.abort();
    this.#child.kill();
  }

  #conclude(ending: Ending, resolve: (value: T) => void, reject: (error: unknown) => void): void {
    this.#reads.abort();
    for (const cleanup of this.#cleanups.splice(0)) cleanup();
    const answer = this.#answer;
    if (this.#verdict !== undefined) reject(this.#verdict.error);
    else if (!this.#begun) reject(new NotBegun(this.#child.said));
    else if (answer === undefined) reject(crashed(ending, this.#child.said));
    else if ('failure' in answer) reject(failureFromChild(answer.failure));
    else {
      const parsed = this.#call.result.safeParse(answer.value);
      if (parsed.success) resolve(parsed.data);
      else reject(misbehaved(parsed.error));
    }
  }
}
