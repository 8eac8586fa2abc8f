/**
 * Children that wait for a job: started, confined and with the engine loaded before it comes, made ready for a video
 * like the last one. A spare is used for one job and never again; while it waits it has seen no video, and an empty
 * folder of its own is all that it shares with this process.
 */
import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { becomesNobody, type ChildPlan, type Mount } from './confinement.ts';
import { fromChild } from './messages.ts';
import { type ChildListener, type Ending, MediaProcess } from './process.ts';
import type { MediaLogger } from './plans.ts';
import { giveToChild } from './users.ts';
import type { Frame, ToChild } from './wire.ts';

/** What spares are made ready for; `key` tells equal ones. */
export interface Forecast {
  key: string;
  message: Extract<ToChild, { op: 'prepare' }>;
}

export interface SpareOptions {
  count: number;
  /** a folder of this process's own, on the file system of the jobs' folders; made when it is not there */
  folder: string;
  /** the plan of a child that sees these mounts */
  plan: (mounts: Mount[]) => ChildPlan;
  logger: MediaLogger;
  /** ms without a job after which what was made ready is given back (default ten minutes) */
  idleMs?: number;
  /** ms between the start of a job and that of the next spare: the job's own start comes first (default 500) */
  refillMs?: number;
}

/** Where a confined spare finds its folder. */
export const spareMounts = (folder: string): Mount[] => [
  { from: join(folder, 'in'), to: '/in' },
  { from: join(folder, 'out'), to: '/out', writable: true },
];

const defaultIdleMs = 10 * 60_000;
const defaultRefillMs = 500;
const longestPauseMs = 60_000;

type State = 'starting' | 'idle' | 'preparing' | 'gone';

/** One that waits. */
export class Spare implements ChildListener {
  readonly folder: string;
  readonly process: MediaProcess;
  /** settled when it waits no more: it was taken, given up, or it ended */
  readonly left: Promise<'taken' | 'retired' | 'ended'>;
  #leave: (why: 'taken' | 'retired' | 'ended') => void = () => {};
  readonly #changed: (spare: Spare) => void;
  state: State = 'starting';
  /** key of what it was made ready for */
  ready = '';
  idleSince = performance.now();

  constructor(folder: string, plan: ChildPlan, changed: (spare: Spare) => void) {
    this.folder = folder;
    this.#changed = changed;
    this.left = new Promise((resolve) => (this.#leave = resolve));
    this.process = new MediaProcess(plan, this);
    this.process.send({ op: 'stand-by' });
  }

  prepare({ key, message }: Forecast): void {
    this.state = 'preparing';
    this.ready = key;
    this.process.send(message);
  }

  frame(frame: Frame): void {
    if (frame.kind !== 'json' || fromChild.parse(frame.value).type !== 'ready') throw new TypeError('a spare child spoke out of turn');
    this.state = 'idle';
    this.idleSince = performance.now();
    this.#changed(this);
  }

  fault(): void {
    this.process.kill();
  }

  memoryExceeded(): void {
    this.process.kill();
  }

  ended(_ending: Ending): void {
    this.#leave(this.state === 'gone' ? 'retired' : 'ended');
    this.state = 'gone';
  }

  /** The caller is the process's listener from here on. */
  give(): void {
    this.state = 'gone';
    this.#leave('taken');
  }

  retire(): void {
    this.state = 'gone';
    this.process.kill();
  }
}

export class Spares {
  readonly #options: Required<SpareOptions>;
  readonly #waiting = new Set<Spare>();
  readonly #closing = new AbortController();
  /** spares that end, timers that fill up: what `close` waits for */
  readonly #work = new Set<Promise<unknown>>();
  readonly #watch: NodeJS.Timeout;
  #forecast: Forecast | undefined;
  /** deaths in a row before a spare was ready */
  #failures = 0;

  constructor(options: SpareOptions) {
    this.#options = { idleMs: defaultIdleMs, refillMs: defaultRefillMs, ...options };
    this.#watch = setInterval(() => this.#relieve(), Math.min(30_000, this.#options.idleMs / 4));
    this.#watch.unref();
    for (let i = 0; i < options.count; i += 1) this.#fill(0);
  }

  get folder(): string {
    return this.#options.folder;
  }

  /** What spares are made ready for now. */
  get lastKey(): string {
    return this.#forecast?.key ?? '';
  }

  /** process ids of those that wait (logs, tests) */
  get pids(): number[] {
    return [...this.#waiting].map((spare) => spare.process.pid).filter((pid) => pid !== undefined);
  }

  /** Keys of what those that wait are ready for; '' for the engine alone. */
  get readyFor(): string[] {
    return [...this.#waiting].filter((spare) => spare.state === 'idle').map((spare) => spare.ready);
  }

  /**
   * One that waits, taken out for one job; the one made ready for `key` before others. Undefined: none is ready, a new
   * child is as fast. Another takes its place. The caller ends it and removes its folder.
   */
  take(key = ''): Spare | undefined {
    const idle = [...this.#waiting].filter((spare) => spare.state === 'idle' && !spare.process.exited);
    const spare = idle.find(({ ready }) => ready === key) ?? idle[0];
    if (spare === undefined || this.#closing.signal.aborted) return undefined;
    this.#waiting.delete(spare);
    spare.give();
    this.#fill(this.#options.refillMs);
    return spare;
  }

  /** What the next job will probably be; those that wait are made ready for it. */
  expect(forecast: Forecast): void {
    this.#forecast = forecast;
    for (const spare of this.#waiting) this.#prepare(spare);
  }

  /** Ends all that wait; resolves when they are gone, with their folders. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearInterval(this.#watch);
    for (const spare of this.#waiting) spare.retire();
    while (this.#work.size > 0) await Promise.allSettled(this.#work);
    await rm(this.#options.folder, { recursive: true, force: true });
  }

  #track(work: Promise<unknown>): void {
    const tracked = work.finally(() => this.#work.delete(tracked));
    this.#work.add(tracked);
  }

  #fill(delayMs: number): void {
    if (this.#closing.signal.aborted) return;
    this.#track(
      this.#start(delayMs).catch((err: unknown) => {
        if (this.#closing.signal.aborted) return;
        this.#options.logger.warn({ err }, 'no spare media child could be started');
        this.#again();
      }),
    );
  }

  async #start(delayMs: number): Promise<void> {
    await sleep(delayMs, undefined, { signal: this.#closing.signal, ref: false });
    await mkdir(this.#options.folder, { recursive: true, mode: 0o700 });
    const folder = await mkdtemp(join(this.#options.folder, 'spare-'));
    await Promise.all(['in', 'out'].map((name) => mkdir(join(folder, name))));
    const plan = this.#options.plan(spareMounts(folder));
    if (becomesNobody(plan)) await giveToChild(join(folder, 'out'));
    if (this.#closing.signal.aborted) return;
    const spare = new Spare(folder, plan, (it) => this.#changed(it));
    this.#waiting.add(spare);
    this.#track(spare.left.then((why) => (why === 'taken' ? undefined : this.#left(spare, why))));
  }

  #changed(spare: Spare): void {
    this.#failures = 0;
    this.#prepare(spare);
  }

  #prepare(spare: Spare): void {
    const forecast = this.#forecast;
    if (forecast !== undefined && spare.state === 'idle' && spare.ready !== forecast.key) spare.prepare(forecast);
  }

  async #left(spare: Spare, why: 'retired' | 'ended'): Promise<void> {
    this.#waiting.delete(spare);
    await rm(spare.folder, { recursive: true, force: true });
    if (why === 'retired' || this.#closing.signal.aborted) return;
    this.#options.logger.warn({ said: spare.process.said }, 'a spare media child ended and is replaced');
    // What it was made ready for may have been the reason.
    if (spare.ready !== '') this.#forecast = undefined;
    this.#again();
  }

  #again(): void {
    const pause = Math.min(longestPauseMs, 1000 * 2 ** this.#failures);
    this.#failures += 1;
    this.#fill(pause);
  }

  /** What was made ready holds memory, of a GPU above all: without jobs it is given back. */
  #relieve(): void {
    const { idleMs } = this.#options;
    const idle = [...this.#waiting].filter((spare) => spare.state === 'idle' && spare.ready !== '' && performance.now() - spare.idleSince > idleMs);
    if (idle.length === 0) return;
    this.#forecast = undefined;
    for (const spare of idle) {
      this.#waiting.delete(spare);
      spare.retire();
      this.#fill(0);
    }
  }
}

/** Whether two paths lie on one file system, so that a file can be moved between them. */
export async function onOneFileSystem(one: string, other: string): Promise<boolean> {
  const [a, b] = await Promise.all([one, other].map((path) => stat(path).catch(() => undefined)));
  return a !== undefined && a.dev === b?.dev;
}
