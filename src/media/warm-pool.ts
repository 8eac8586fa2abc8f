/**
 * Keeps media children that are started before their job: isolated, with the engine loaded, and prepared for a job like
 * the last one. Each child runs one job. Before that it has read no video, and sees only an empty folder of its own.
 */
import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { becomesNobody, type ChildPlan, type Mount } from './isolation.ts';
import { fromChild } from './messages.ts';
import type { MediaLogger } from './plans.ts';
import { type ChildListener, type Ending, MediaProcess } from './process.ts';
import { giveToChild } from './child-user.ts';
import type { WarmUpProfile } from './warm-up-profile.ts';
import type { Frame } from './wire.ts';

export interface WarmPoolOptions {
  count: number;
  /** used by this process only, on the file system of the jobs' folders; created if missing */
  folder: string;
  /** returns the plan of a child with these mounts */
  plan: (mounts: Mount[]) => ChildPlan;
  logger: MediaLogger;
  /** unprepared children replace prepared ones after so many ms without a job (default ten minutes) */
  idleMs?: number;
  /** ms until a child that does not become ready is replaced (default 15 minutes: engines for a GPU may be built meanwhile) */
  readyLimitMs?: number;
}

/** The mounts of a warm child: what it sees of its folder. */
const warmMounts = (folder: string): Mount[] => [
  { from: join(folder, 'in'), to: '/in' },
  { from: join(folder, 'out'), to: '/out', writable: true },
];

const defaultIdleMs = 10 * 60_000;
const defaultReadyLimitMs = 15 * 60_000;
/** ms after the start of a job until its child is replaced, so that both do not start at once */
const refillMs = 500;
const longestPauseMs = 60_000;

type State = 'starting' | 'idle' | 'preparing' | 'gone';
type Departure = 'acquired' | 'retired' | 'ended';

export class WarmChild implements ChildListener {
  /** contains the folders `in` and `out` */
  readonly folder: string;
  readonly process: MediaProcess;
  /** resolves when the child leaves the pool */
  readonly left: Promise<Departure>;
  #leave: (why: Departure) => void = () => {};
  readonly #changed: (child: WarmChild) => void;
  state: State = 'starting';
  /** key of the profile that the child is prepared for; '': none */
  profileKey = '';
  /** time of the last change of `state` (performance.now()) */
  stateSince = performance.now();

  constructor(folder: string, plan: ChildPlan, changed: (child: WarmChild) => void) {
    this.folder = folder;
    this.#changed = changed;
    this.left = new Promise((resolve) => (this.#leave = resolve));
    this.process = new MediaProcess(plan, this);
    this.process.send({ op: 'warm-up' });
  }

  prepare({ key, message }: WarmUpProfile): void {
    this.#enter('preparing');
    this.profileKey = key;
    this.process.send(message);
  }

  frame(frame: Frame): void {
    const isReady = frame.kind === 'json' && fromChild.parse(frame.value).type === 'ready';
    if (!isReady) throw new TypeError('a warm media child sent something other than ready');
    this.#enter('idle');
    this.#changed(this);
  }

  #enter(state: State): void {
    this.state = state;
    this.stateSince = performance.now();
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

  /** Leaves the pool: from now on the process belongs to a job. */
  leaveForJob(): void {
    this.state = 'gone';
    this.#leave('acquired');
  }

  retire(): void {
    this.state = 'gone';
    this.process.kill();
  }
}

export class WarmPool {
  readonly #options: Required<WarmPoolOptions>;
  readonly #children = new Set<WarmChild>();
  readonly #closing = new AbortController();
  /** children that are starting or ending; `close` waits for them */
  readonly #work = new Set<Promise<unknown>>();
  readonly #check: NodeJS.Timeout;
  #profile: WarmUpProfile | undefined;
  /** number of children in a row that ended before they were ready */
  #failures = 0;

  constructor(options: WarmPoolOptions) {
    this.#options = { idleMs: defaultIdleMs, readyLimitMs: defaultReadyLimitMs, ...options };
    this.#check = setInterval(() => {
      this.#endStuck();
      this.#replaceIdle();
    }, Math.min(30_000, this.#options.idleMs / 4));
    this.#check.unref();
    for (let i = 0; i < options.count; i += 1) this.#refill(0);
  }

  get folder(): string {
    return this.#options.folder;
  }

  /** key of the profile that new children are prepared for; '': none */
  get profileKey(): string {
    return this.#profile?.key ?? '';
  }

  /** process ids of the children in the pool (logs, tests) */
  get pids(): number[] {
    return [...this.#children].map((child) => child.process.pid).filter((pid) => pid !== undefined);
  }

  /** profile keys of the idle children; '' for an unprepared child */
  get idleProfileKeys(): string[] {
    return [...this.#children].filter((child) => child.state === 'idle').map((child) => child.profileKey);
  }

  /**
   * Takes an idle child out of the pool for one job, preferably one that is prepared for `key`, and starts another in its
   * place. Returns undefined if none is idle: starting a new child is as fast as waiting. The caller must release the
   * child.
   */
  acquire(key = ''): WarmChild | undefined {
    const idle = [...this.#children].filter((child) => child.state === 'idle' && !child.process.exited);
    const child = idle.find(({ profileKey }) => profileKey === key) ?? idle[0];
    if (child === undefined || this.#closing.signal.aborted) return undefined;
    this.#children.delete(child);
    child.leaveForJob();
    this.#refill(refillMs);
    return child;
  }

  /** Ends an acquired child if it still runs, and removes its folder. Children are never reused. */
  async release(child: WarmChild): Promise<void> {
    child.process.kill();
    await rm(child.folder, { recursive: true, force: true });
  }

  /** Prepares the children, and those that are started later, for the next job. */
  prepareFor(profile: WarmUpProfile): void {
    this.#profile = profile;
    for (const child of this.#children) this.#prepare(child);
  }

  /** Ends all children; resolves when they and their folders are gone. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearInterval(this.#check);
    for (const child of this.#children) child.retire();
    while (this.#work.size > 0) await Promise.allSettled(this.#work);
    await rm(this.#options.folder, { recursive: true, force: true });
  }

  #track(work: Promise<unknown>): void {
    const tracked = work.finally(() => this.#work.delete(tracked));
    this.#work.add(tracked);
  }

  #refill(delayMs: number): void {
    if (this.#closing.signal.aborted) return;
    this.#track(
      this.#start(delayMs).catch((err: unknown) => {
        if (this.#closing.signal.aborted) return;
        this.#options.logger.warn({ err }, 'no warm media child could be started');
        this.#refillAfterFailure();
      }),
    );
  }

  async #start(delayMs: number): Promise<void> {
    await sleep(delayMs, undefined, { signal: this.#closing.signal, ref: false });
    await mkdir(this.#options.folder, { recursive: true, mode: 0o700 });
    const folder = await mkdtemp(join(this.#options.folder, 'child-'));
    try {
      await this.#startIn(folder);
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  }

  async #startIn(folder: string): Promise<void> {
    await Promise.all(['in', 'out'].map((name) => mkdir(join(folder, name))));
    const plan = this.#options.plan(warmMounts(folder));
    if (becomesNobody(plan)) await giveToChild(join(folder, 'out'));
    if (this.#closing.signal.aborted) return;
    const child = new WarmChild(folder, plan, (it) => this.#becameIdle(it));
    this.#children.add(child);
    this.#track(child.left.then((why) => (why === 'acquired' ? undefined : this.#onLeft(child, why))));
  }

  #becameIdle(child: WarmChild): void {
    this.#failures = 0;
    this.#prepare(child);
  }

  #prepare(child: WarmChild): void {
    const profile = this.#profile;
    if (profile !== undefined && child.state === 'idle' && child.profileKey !== profile.key) child.prepare(profile);
  }

  async #onLeft(child: WarmChild, why: 'retired' | 'ended'): Promise<void> {
    this.#children.delete(child);
    await rm(child.folder, { recursive: true, force: true });
    if (why === 'retired' || this.#closing.signal.aborted) return;
    this.#options.logger.warn({ stderrTail: child.process.stderrTail }, 'a warm media child ended and is replaced');
    // Its preparation may have caused the end, so do not repeat it.
    if (child.profileKey !== '') this.#profile = undefined;
    this.#refillAfterFailure();
  }

  #refillAfterFailure(): void {
    const pause = Math.min(longestPauseMs, 1000 * 2 ** this.#failures);
    this.#failures += 1;
    this.#refill(pause);
  }

  /** A child that hangs, for example in the driver of a GPU, would keep its place for good. Its end has it replaced. */
  #endStuck(): void {
    const isStuck = ({ state, stateSince }: WarmChild) => state !== 'idle' && performance.now() - stateSince > this.#options.readyLimitMs;
    for (const child of this.#children) if (isStuck(child)) child.process.kill();
  }

  /** Replaces prepared children by unprepared ones when no jobs come: the networks take memory, mainly of the GPU. */
  #replaceIdle(): void {
    const { idleMs } = this.#options;
    const isOverdue = ({ state, profileKey, stateSince }: WarmChild) =>
      state === 'idle' && profileKey !== '' && performance.now() - stateSince > idleMs;
    const overdue = [...this.#children].filter(isOverdue);
    if (overdue.length === 0) return;
    this.#profile = undefined;
    for (const child of overdue) {
      this.#children.delete(child);
      child.retire();
      this.#refill(0);
    }
  }
}

/** Whether two paths are on the same file system, so that a file can be moved between them. */
export async function onSameFileSystem(one: string, other: string): Promise<boolean> {
  const [a, b] = await Promise.all([one, other].map((path) => stat(path).catch(() => undefined)));
  return a !== undefined && a.dev === b?.dev;
}
