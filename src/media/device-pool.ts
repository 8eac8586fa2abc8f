/** Which device a job runs on: the one with the fewest jobs, and another one when a GPU fails. */
import { ReelmendError } from '../domain/errors.ts';
import { isDeviceFault, isNoEngine } from './failures.ts';
import type { DeviceInfo } from './types.ts';

/** Whether the choice names several GPUs: `cuda:all` or a list such as `cuda:0,cuda:2`. */
export const namesSeveral = (device: string): boolean => device === 'cuda:all' || device.includes(',');

export interface DevicePoolOptions {
  /** `auto`, `cpu`, `cuda:N`, or several GPUs (namesSeveral) */
  device: string;
  /** whether a GPU can be reached at all; without one `auto` is the CPU already */
  hasGpu: boolean;
  /** asks the driver for the machine's devices and their state */
  poll: () => Promise<DeviceInfo[]>;
  warn: (details: object, message: string) => void;
  /** ms until a lost GPU is polled again (default one minute) */
  pollIntervalMs?: number;
}

interface Slot {
  id: string;
  /** that run on it now */
  jobs: number;
  /** `performance.now()` when it was found unusable */
  lostAt: number | undefined;
}

type Job<T> = (device: string) => Promise<T>;

/** A job runs on two GPUs at most that are found healthy after it failed on them: the video may be the reason. */
const maxHealthyGpus = 2;

export class DevicePool {
  readonly #options: Required<DevicePoolOptions>;
  /** one for each GPU of a choice that names several; read at the first job */
  #slots: Promise<Slot[]> | undefined;
  #polling: Promise<void> | undefined;

  constructor(options: DevicePoolOptions) {
    this.#options = { pollIntervalMs: 60_000, ...options };
  }

  /** The device that the next job would run on. */
  async next(): Promise<string> {
    const { device } = this.#options;
    if (!namesSeveral(device)) return device;
    return leastBusy(await this.#knownSlots(), new Set())?.id ?? 'auto';
  }

  /**
   * Runs a job on the chosen device, and again elsewhere when a GPU fails: on another GPU of several, on the CPU for
   * `auto`. A single GPU that was named is kept, and its failure is the result. Without an engine of the network for
   * the GPU, the job runs on the CPU: building one takes minutes.
   */
  async run<T>(job: Job<T>, signal?: AbortSignal): Promise<T> {
    try {
      return await (namesSeveral(this.#options.device) ? this.#runOnGpus(job, signal) : this.#runOnOne(job, signal));
    } catch (error) {
      if (!isNoEngine(error) || signal?.aborted === true) throw error;
      const message = 'the GPU has no engine of the network; the video is processed on the CPU. Build it: reelmend models compile';
      this.#options.warn({ error }, message);
      return job('cpu');
    }
  }

  async #runOnOne<T>(job: Job<T>, signal: AbortSignal | undefined): Promise<T> {
    const { device, hasGpu, warn } = this.#options;
    try {
      return await job(device);
    } catch (error) {
      if (device !== 'auto' || !hasGpu || signal?.aborted === true || !isDeviceFault(error)) throw error;
      warn({ error }, 'the GPU failed; the video is processed again on the CPU');
      return job('cpu');
    }
  }

  /** After a failure the GPUs are polled. A lost one gets no jobs until it answers again. */
  async #runOnGpus<T>(job: Job<T>, signal: AbortSignal | undefined): Promise<T> {
    const used = new Set<string>();
    let failure: unknown = noDevice();
    for (let healthy = 0; healthy < maxHealthyGpus; ) {
      const slot = leastBusy(await this.#knownSlots(), used);
      if (slot === undefined) throw failure;
      used.add(slot.id);
      slot.jobs += 1;
      try {
        return await job(slot.id);
      } catch (error) {
        if (!isDeviceFault(error) || signal?.aborted === true) throw error;
        failure = error;
      } finally {
        slot.jobs -= 1;
      }
      await this.#poll();
      if (slot.lostAt === undefined) healthy += 1;
    }
    throw failure;
  }

  async #knownSlots(): Promise<Slot[]> {
    this.#slots ??= this.#firstSlots();
    const slots = await this.#slots.catch((error: unknown) => {
      this.#slots = undefined;
      throw error;
    });
    const { pollIntervalMs } = this.#options;
    const due = slots.some(({ lostAt }) => lostAt !== undefined && performance.now() - lostAt > pollIntervalMs);
    if (due && this.#polling === undefined) {
      const polled = this.#poll();
      // A job waits for the poll only when no GPU can take it.
      if (slots.every(({ lostAt }) => lostAt !== undefined)) await polled;
      else polled.catch(() => {});
    }
    return slots;
  }

  async #firstSlots(): Promise<Slot[]> {
    const { device } = this.#options;
    const gpus = (await this.#options.poll()).filter(({ id }) => /^cuda:\d+$/.test(id));
    const ids = device === 'cuda:all' ? gpus.map(({ id }) => id) : [...new Set(device.split(','))];
    const slots = ids.map((id): Slot => ({ id, jobs: 0, lostAt: undefined }));
    this.#update(slots, gpus);
    return slots;
  }

  /** Callers at the same time share one poll. */
  #poll(): Promise<void> {
    this.#polling ??= (async () => {
      const slots = await this.#slots!;
      this.#update(slots, await this.#options.poll().catch(() => []));
    })().finally(() => (this.#polling = undefined));
    return this.#polling;
  }

  #update(slots: Slot[], devices: DeviceInfo[]): void {
    const { warn } = this.#options;
    for (const slot of slots) {
      const found = devices.find(({ id }) => id === slot.id);
      const reason = found === undefined ? 'The driver does not tell of it.' : found.reason;
      const usable = found?.usable === true;
      if (usable && slot.lostAt !== undefined) warn({ device: slot.id, reason: '' }, 'a GPU can be used again');
      if (!usable && slot.lostAt === undefined) warn({ device: slot.id, reason }, 'a GPU cannot be used and gets no jobs');
      slot.lostAt = usable ? undefined : performance.now();
    }
  }
}

function leastBusy(slots: Slot[], used: ReadonlySet<string>): Slot | undefined {
  const usable = slots.filter(({ id, lostAt }) => lostAt === undefined && !used.has(id));
  return usable.reduce<Slot | undefined>((least, slot) => (least === undefined || slot.jobs < least.jobs ? slot : least), undefined);
}

function noDevice(): ReelmendError {
  return new ReelmendError('processing_failed', 'No GPU of this worker can be used.');
}
