/**
 * One media child from start to end: started confined, told what to do, served, watched, ended.
 * Settles only when the process is gone, so that nothing is written after a promise has settled.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import type { Duplex, Readable } from 'node:stream';
import type { z } from 'zod';
import type { BlockReader } from './blocks.ts';
import { type ChildPlan, childCommand, filterFd } from './confinement.ts';
import { type ChildFailure, crashed, failureFromChild, misbehaved, outOfMemory, timedOut } from './failures.ts';
import { watchMemory } from './memory.ts';
import { fromChild } from './messages.ts';
import type { Progress } from './types.ts';
import {
  type Frame,
  FrameReader,
  type ToChild,
  channelFd,
  encodeBytes,
  encodeMessage,
  maxMessageBytes,
} from './wire.ts';

export interface ChildCall<T> {
  plan: ChildPlan;
  message: ToChild;
  /** shape of the result; anything else is a failure of the child */
  result: z.ZodType<T>;
  /** serves the child's reads; without it a read is a failure of the child */
  source?: BlockReader | undefined;
  signal?: AbortSignal | undefined;
  onProgress?: ((progress: Progress) => void) | undefined;
  /** told once the process runs (tests, logs) */
  onStart?: ((pid: number) => void) | undefined;
}

/** After its answer the child may end by itself for this long. */
const graceMs = 2000;
/**
 * After a cancellation, less: the engine stops between two frames, which on a busy machine can take seconds,
 * and nothing of its work is kept anyway (its output folder is taken away with all that is in it).
 */
const cancelGraceMs = 150;
/** Ceiling on everything that one child may send; ten progress messages a second for a day stay below. */
const maxTotalBytes = 256 * 1024 * 1024;
const keptStderrBytes = 4096;

/** Rejects with FrameliftError, with the source's own rejection, or with the reason of the signal. */
export function runChild<T>(call: ChildCall<T>): Promise<T> {
  call.signal?.throwIfAborted();
  return new Session(call).done;
}

class Session<T> {
  readonly done: Promise<T>;
  readonly #call: ChildCall<T>;
  readonly #child: ChildProcess;
  readonly #channel: Duplex;
  readonly #frames = new FrameReader(maxMessageBytes);
  readonly #reads = new AbortController();
  readonly #cleanups: (() => void)[] = [];
  #verdict: { error: unknown } | undefined;
  #answer: { value: unknown } | { failure: ChildFailure } | undefined;
  #exited = false;
  #reading = false;
  #received = 0;
  #fraction = 0;
  #stderr = '';

  constructor(call: ChildCall<T>) {
    this.#call = call;
    const command = childCommand(call.plan);
    const filter = command.filter;
    // A process group of its own: ending the group ends whatever stands between us and the child.
    this.#child = spawn(command.file, command.args, {
      cwd: '/',
      env: {},
      detached: true,
      stdio: ['ignore', 'ignore', 'pipe', 'pipe', ...(filter === undefined ? [] : (['pipe'] as const))],
    });
    const streams = this.#child.stdio;
    this.#channel = streams[channelFd] as Duplex;
    if (filter !== undefined) this.#feed(streams[filterFd] as Duplex, filter);
    this.done = new Promise((resolve, reject) => {
      const settle = (exit: { code: number | null; signal: NodeJS.Signals | null }) => {
        this.#settle(exit, resolve, reject);
      };
      this.#child.once('close', (code, signal) => settle({ code, signal }));
      this.#child.once('error', (error) => {
        this.#verdict ??= { error: misbehaved(error) };
        if (this.#child.pid === undefined) settle({ code: null, signal: null });
      });
    });
    this.#watch();
    this.#listen(streams[2] as Readable);
    this.#channel.write(encodeMessage(call.message));
    if (this.#child.pid !== undefined) call.onStart?.(this.#child.pid);
  }

  /** bubblewrap reads to the end; it may be gone before it did, which its own exit tells better. */
  #feed(stream: Duplex, bytes: Buffer): void {
    stream.on('error', () => {});
    stream.resume();
    stream.end(bytes);
  }

  #watch(): void {
    const { plan, signal } = this.#call;
    const { timeoutMs, memoryBytes } = plan.limits;
    const streams = this.#child.stdio;
    this.#after(timeoutMs, () => this.#end(timedOut(timeoutMs)));
    if (this.#child.pid !== undefined) {
      const exceeded = (bytes: number) => this.#end(outOfMemory(bytes, memoryBytes));
      this.#cleanups.push(watchMemory(this.#child.pid, memoryBytes, exceeded));
    }
    const abort = () => this.#cancel(signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    this.#cleanups.push(() => signal?.removeEventListener('abort', abort));
    this.#child.once('exit', () => {
      this.#exited = true;
      // Whoever still holds the other ends of the pipes is no child of ours any more.
      this.#after(graceMs, () => {
        for (const stream of streams) stream?.destroy();
      });
    });
  }

  #after(ms: number, act: () => void): void {
    const timer = setTimeout(act, ms);
    this.#cleanups.push(() => clearTimeout(timer));
  }

  #listen(stderr: Readable): void {
    stderr.setEncoding('utf8');
    stderr.on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-keptStderrBytes);
    });
    stderr.on('error', () => {});
    this.#channel.on('error', () => {}); // the child ended; its exit tells more
    this.#channel.on('data', (chunk: Buffer) => this.#receive(chunk));
  }

  #receive(chunk: Buffer): void {
    if (this.#verdict !== undefined) return;
    try {
      this.#received += chunk.length;
      if (this.#received > maxTotalBytes) throw new RangeError('the media child sent too much');
      for (const frame of this.#frames.push(chunk)) this.#obey(frame);
    } catch (error) {
      this.#end(misbehaved(error));
    }
  }

  #obey(frame: Frame): void {
    if (frame.kind !== 'json') throw new TypeError('the media child sent bytes');
    const message = fromChild.parse(frame.value);
    if (message.type === 'progress') this.#progress(message.progress);
    else if (message.type === 'read') void this.#serve(message.id, message.offset, message.length);
    else {
      this.#answer ??= message.type === 'result' ? { value: message.value } : { failure: message };
      this.#channel.end();
      this.#after(graceMs, () => this.#kill());
    }
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
      if (this.#channel.writable) this.#channel.write(encodeBytes(id, bytes));
    } catch (error) {
      this.#end(error);
    }
  }

  /** The engine is asked to stop; then it is made to. */
  #cancel(reason: unknown): void {
    if (this.#verdict !== undefined) return;
    this.#verdict = { error: reason };
    this.#reads.abort(reason);
    if (this.#channel.writable) this.#channel.write(encodeMessage({ op: 'cancel' }));
    this.#after(cancelGraceMs, () => this.#kill());
  }

  #end(error: unknown): void {
    this.#verdict ??= { error };
    this.#kill();
  }

  #kill(): void {
    this.#reads.abort();
    if (this.#exited || this.#child.pid === undefined) return;
    try {
      process.kill(-this.#child.pid, 'SIGKILL');
    } catch {
      // it ended in this moment
    }
  }

  #settle(
    exit: { code: number | null; signal: NodeJS.Signals | null },
    resolve: (value: T) => void,
    reject: (error: unknown) => void,
  ): void {
    this.#reads.abort();
    for (const cleanup of this.#cleanups.splice(0)) cleanup();
    const answer = this.#answer;
    if (this.#verdict !== undefined) reject(this.#verdict.error);
    else if (answer === undefined) reject(crashed(exit, this.#stderr.trim()));
    else if ('failure' in answer) reject(failureFromChild(answer.failure));
    else {
      const parsed = this.#call.result.safeParse(answer.value);
      if (parsed.success) resolve(parsed.data);
      else reject(misbehaved(parsed.error));
    }
  }
}
