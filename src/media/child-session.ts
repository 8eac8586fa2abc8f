/**
 * One call of a media child: sends it the job, serves its reads, enforces the time limit, and classifies its end. The
 * promise settles when the process is gone, so that nothing is written afterwards.
 */
import type { z } from 'zod';
import type { BlockReader } from './blocks.ts';
import type { ChildPlan } from './isolation.ts';
import { type ChildFailure, crashed, failureFromChild, misbehaved, notStarted, outOfMemory, timedOut } from './failures.ts';
import { fromChild } from './messages.ts';
import { type ChildListener, type Ending, MediaProcess } from './process.ts';
import type { Progress } from './types.ts';
import type { Frame, ToChild } from './wire.ts';

export interface ChildCall<T> {
  plan: ChildPlan;
  message: ToChild;
  /** shape of the result; a result of another shape is a failure */
  result: z.ZodType<T>;
  /** serves the child's reads; without it a read is a failure */
  source?: BlockReader | undefined;
  signal?: AbortSignal | undefined;
  onProgress?: ((progress: Progress) => void) | undefined;
  /** called once, when the addon gets the job */
  onBegun?: (() => void) | undefined;
  /** called once, when the process runs (tests, logs) */
  onStart?: ((pid: number) => void) | undefined;
  /** a warm child for this call, started with the same plan except for the time limit; default: a new child */
  waiting?: MediaProcess | undefined;
}

/** A warm child ended before it began its job. Another child may do the job; if the video is the reason, that one fails too. */
export class NotBegun extends Error {
  override readonly name = 'NotBegun';
}

/** ms that the child has to end by itself after its result. */
const graceMs = 2000;
/**
 * ms that the child has to end by itself after a cancellation. Short: the engine stops between two frames, which can take
 * seconds on a busy machine, and its output folder is removed anyway.
 */
const cancelGraceMs = 150;

/** Rejects with ReelmendError, with the source's own rejection, with the reason of the signal, or with NotBegun. Never throws at once. */
export async function runChild<T>(call: ChildCall<T>): Promise<T> {
  if (call.signal?.aborted === true) {
    call.waiting?.kill();
    call.signal.throwIfAborted();
  }
  return new ChildSession(call).done;
}

class ChildSession<T> implements ChildListener {
  readonly done: Promise<T>;
  readonly #call: ChildCall<T>;
  readonly #child: MediaProcess;
  readonly #reads = new AbortController();
  readonly #cleanups: (() => void)[] = [];
  #settle: (ending: Ending) => void = () => {};
  #outcome: { error: unknown } | undefined;
  #answer: { value: unknown } | { failure: ChildFailure } | undefined;
  #begun: boolean;
  #sawVideo: boolean;
  #reading = false;
  #fraction = 0;

  constructor(call: ChildCall<T>) {
    this.#call = call;
    this.#begun = call.waiting === undefined;
    // Before it opens the video that it is to enhance, the child says that it has begun.
    this.#sawVideo = call.message.op !== 'enhance';
    this.done = new Promise((resolve, reject) => {
      this.#settle = (ending) => this.#conclude(ending, resolve, reject);
    });
    this.#child = call.waiting ?? new MediaProcess(call.plan, this);
    call.waiting?.setListener(this);
    const { timeoutMs } = call.plan.limits;
    this.#after(timeoutMs, () => this.#end(timedOut(timeoutMs)));
    const abort = () => this.#cancel(call.signal?.reason);
    call.signal?.addEventListener('abort', abort, { once: true });
    this.#cleanups.push(() => call.signal?.removeEventListener('abort', abort));
    this.#child.send(call.message);
    if (this.#child.pid !== undefined) call.onStart?.(this.#child.pid);
  }

  frame(frame: Frame): void {
    if (this.#outcome !== undefined) return;
    if (frame.kind !== 'json') throw new TypeError('the media child sent bytes');
    const message = fromChild.parse(frame.value);
    if (message.type === 'ready') throw new TypeError('the media child reported that it is ready after it got its job');
    this.#sawVideo = true;
    // `begun` alone proves no work: the child may have ended right behind it.
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
    if (this.#outcome === undefined) this.#end(misbehaved(error));
  }

  memoryExceeded(bytes: number): void {
    this.#end(outOfMemory(bytes, this.#child.plan.limits.memoryBytes));
  }

  ended(ending: Ending): void {
    if (ending.error !== undefined) this.#outcome ??= { error: notStarted(ending.error) };
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

  /** Our child sends one read at a time; a second one before its response is misbehaviour. */
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

  /** Sends the engine a cancellation, and kills the child if it does not end soon. */
  #cancel(reason: unknown): void {
    if (this.#outcome !== undefined) return;
    this.#outcome = { error: reason };
    this.#reads.abort(reason);
    this.#child.send({ op: 'cancel' });
    this.#after(cancelGraceMs, () => this.#kill());
  }

  #end(error: unknown): void {
    this.#outcome ??= { error };
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
    if (this.#outcome !== undefined) reject(this.#outcome.error);
    else if (!this.#begun) reject(new NotBegun(this.#child.stderrTail));
    else if (answer === undefined) reject(crashed(ending, this.#child.stderrTail, this.#sawVideo));
    else if ('failure' in answer) reject(failureFromChild(answer.failure));
    else {
      const parsed = this.#call.result.safeParse(answer.value);
      if (parsed.success) resolve(parsed.data);
      else reject(misbehaved(parsed.error));
    }
  }
}
