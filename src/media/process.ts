/**
 * The process of a media child: starts it isolated, reads its pipes, watches its memory, and ends it together with the
 * programs around it. It reports to one listener: the warm child (warm-pool.ts) until its job comes, then the job's session
 * (child-session.ts).
 */
import { spawn, type ChildProcess } from 'node:child_process';
import type { Duplex, Readable, Writable } from 'node:stream';
import { blockFd, type ChildPlan, childCommand, filterFd, infoFd } from './isolation.ts';
import { watchMemory } from './memory.ts';
import { mapUsers } from './child-user.ts';
import { type Frame, FrameReader, type ToChild, channelFd, encodeBytes, encodeMessage, maxMessageBytes } from './wire.ts';

/** How a process ended; `error`: it could not be started. */
export interface Ending {
  code: number | null;
  signal: NodeJS.Signals | null;
  error?: Error;
}

export interface ChildListener {
  frame(frame: Frame): void;
  /** the child sent something that is no frame, or too much */
  fault(error: unknown): void;
  /** the child uses more memory than its plan allows; called once */
  memoryExceeded(bytes: number): void;
  /** the process is gone and its pipes are read; called once for each listener, after all else */
  ended(ending: Ending): void;
}

/** ms from the end of the process until its pipes are closed, if others still hold them. */
const graceMs = 2000;
/** Bytes that one child may send in all; ten progress messages a second for a day stay below. */
const maxTotalBytes = 256 * 1024 * 1024;
const keptStderrBytes = 4096;

export class MediaProcess {
  readonly plan: ChildPlan;
  readonly #child: ChildProcess;
  readonly #channel: Duplex | undefined;
  readonly #frames = new FrameReader(maxMessageBytes);
  readonly #cleanups: (() => void)[] = [];
  #listener: ChildListener;
  #exited = false;
  #ending: Ending | undefined;
  #received = 0;
  #stderr = '';

  constructor(plan: ChildPlan, listener: ChildListener) {
    this.plan = plan;
    this.#listener = listener;
    const command = childCommand(plan);
    const { filter, mapsUsers } = command;
    const pipeIf = (wanted: boolean) => (wanted ? 'pipe' : 'ignore');
    // A process group of its own: ending the group also ends prlimit, setpriv and bubblewrap around the child.
    this.#child = spawn(command.file, command.args, {
      cwd: '/',
      env: command.env,
      detached: true,
      stdio: ['ignore', 'ignore', 'pipe', 'pipe', pipeIf(filter !== undefined), pipeIf(mapsUsers), pipeIf(mapsUsers)],
    });
    this.#awaitEnd();
    // Without free file descriptors the process has no pipes, although the type says otherwise. Then it ends with an error.
    const streams: readonly (Readable | Writable | null | undefined)[] = (this.#child.stdio as ChildProcess['stdio'] | undefined) ?? [];
    this.#channel = streams[channelFd] as Duplex | undefined;
    if (this.#channel === undefined) return;
    if (filter !== undefined) this.#feed(streams[filterFd] as Duplex, filter);
    if (mapsUsers) mapUsers(streams[infoFd] as Duplex, streams[blockFd] as Duplex);
    this.#listen(this.#channel, streams[2] as Readable);
    if (this.#child.pid !== undefined) {
      this.#cleanups.push(watchMemory(this.#child.pid, plan.limits.memoryBytes, (bytes) => this.#listener.memoryExceeded(bytes)));
    }
  }

  /** undefined: it could not be started */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** the process has ended, though its pipes may still be read */
  get exited(): boolean {
    return this.#exited;
  }

  /** the end of its standard error, for the log */
  get stderrTail(): string {
    return this.#stderr.trim();
  }

  /** Replaces the listener; the new one also learns of an end that came before. */
  setListener(listener: ChildListener): void {
    this.#listener = listener;
    const ending = this.#ending;
    if (ending !== undefined) queueMicrotask(() => listener.ended(ending));
  }

  send(message: ToChild): void {
    if (this.#channel?.writable) this.#channel.write(encodeMessage(message));
  }

  sendBytes(id: number, bytes: Uint8Array): void {
    if (this.#channel?.writable) this.#channel.write(encodeBytes(id, bytes));
  }

  /** Nothing more will be sent to it. */
  hangUp(): void {
    this.#channel?.end();
  }

  kill(): void {
    if (this.#exited || this.#child.pid === undefined) return;
    try {
      process.kill(-this.#child.pid, 'SIGKILL');
    } catch {
      // it has just ended
    }
  }

  /** Errors are ignored: if bubblewrap ended before it read all, its exit status tells why. */
  #feed(stream: Duplex, bytes: Buffer): void {
    stream.on('error', () => {});
    stream.resume();
    stream.end(bytes);
  }

  #awaitEnd(): void {
    const end = (ending: Ending) => {
      if (this.#ending !== undefined) return;
      this.#ending = ending;
      this.#exited = true;
      for (const cleanup of this.#cleanups.splice(0)) cleanup();
      this.#listener.ended(ending);
    };
    let failure: Error | undefined;
    this.#child.once('close', (code, signal) => end({ code, signal, ...(failure === undefined ? {} : { error: failure }) }));
    this.#child.once('error', (error) => {
      failure = error;
      if (this.#child.pid === undefined) end({ code: null, signal: null, error });
    });
    this.#child.once('exit', () => {
      this.#exited = true;
      // Another process may still hold the other ends of the pipes.
      const timer = setTimeout(() => {
        for (const stream of this.#child.stdio) stream?.destroy();
      }, graceMs);
      this.#cleanups.push(() => clearTimeout(timer));
    });
  }

  #listen(channel: Duplex, stderr: Readable): void {
    stderr.setEncoding('utf8');
    stderr.on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-keptStderrBytes);
    });
    stderr.on('error', () => {});
    channel.on('error', () => {}); // the child ended; its exit status tells why
    channel.on('data', (chunk: Buffer) => this.#receive(chunk));
  }

  #receive(chunk: Buffer): void {
    try {
      this.#received += chunk.length;
      if (this.#received > maxTotalBytes) throw new RangeError('the media child sent too much');
      for (const frame of this.#frames.push(chunk)) this.#listener.frame(frame);
    } catch (error) {
      this.#listener.fault(error);
    }
  }
}
