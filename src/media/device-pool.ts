/** Chooses the device of each job: the GPU with the fewest jobs, and another device if a GPU fails. */
import type { ReelmendError } from '../domain/errors.ts';
import { gpuIsLost, isDeviceFault, isNoEngine, noUsableGpu } from './failures.ts';
import type { DeviceInfo, LostDevice } from './types.ts';

/** Whether a device option names several GPUs: `cuda:all` or a list such as `cuda:0,cuda:2`. */
export const namesSeveral = (device: string): boolean => device === 'cuda:all' || device.includes(',');

/** Whether a device option names GPUs, one or several. `auto` names none: it falls back to the CPU. */
const namesGpus = (device: string): boolean => device.startsWith('cuda:');

export interface DevicePoolOptions {
  /** `auto`, `cpu`, `cuda:N`, or several GPUs (namesSeveral) */
  device: string;
  /** whether this machine has a GPU; without one, `auto` means the CPU */
  hasGpu: boolean;
  /** asks the driver for the machine's devices and their state */
  poll: () => Promise<DeviceInfo[]>;
  warn: (details: object, message: string) => void;
  /** ms until a lost GPU is polled again (default one minute) */
  pollIntervalMs?: number;
}

interface Slot {
  id: string;
  /** number of jobs that run on it now */
  jobs: number;
  /** `performance.now()` when a poll found it unusable */
  lostAt: number | undefined;
  /** why it is lost; empty if it is not */
  reason: string;
}

type Job<T> = (device: string) => Promise<T>;

/** A job that fails on this many GPUs that are healthy afterwards fails for good: its video may be the cause. */
const maxHealthyGpus = 2;

export class DevicePool {
  readonly #options: Required<DevicePoolOptions>;
  /** the GPUs that get no jobs at the moment, as last polled */
  lost: LostDevice[] = [];
  /** one for each GPU that the option names; created at the first job, or for a single GPU when a job fails because of it */
  #slots: Promise<Slot[]> | undefined;
  #polling: Promise<void> | undefined;

  constructor(options: DevicePoolOptions) {
    this.#options = { pollIntervalMs: 60_000, ...options };
  }

  /** The device that the next job would run on. */
  async next(): Promise<string> {
    const { device } = this.#options;
    if (!namesSeveral(device)) return device;
    return leastBusy(await this.#currentSlots(), new Set())?.id ?? 'auto';
  }

  /** Whether a job can run now: false if all GPUs that the option names are lost. These are polled again at intervals. */
  async isUsable(): Promise<boolean> {
    if (this.#slots === undefined) return true;
    const slots = await this.#currentSlots().catch(() => []);
    return slots.some(({ lostAt }) => lostAt === undefined);
  }

  /**
   * Runs a job on a device. If a GPU fails, the job runs again: on another GPU if the option names several, on the CPU
   * for `auto`, and not at all for a single named GPU. If each GPU that failed is lost, the video is not the reason: the error is
   * `service_unavailable`, so another worker may run the job. If the GPU has no compiled engine for the network, the job runs on
   * the CPU, because building an engine takes minutes. With `onGpusOnly`, none that GPUs fail to do runs on the CPU.
   */
  async run<T>(job: Job<T>, signal?: AbortSignal, { onGpusOnly = false }: { onGpusOnly?: boolean } = {}): Promise<T> {
    try {
      return await (namesSeveral(this.#options.device) ? this.#runOnGpus(job, signal) : this.#runOnOne(job, signal, onGpusOnly));
    } catch (error) {
      if (!isNoEngine(error) || onGpusOnly || signal?.aborted === true) throw error;
      const message = 'the GPU has no engine of the network; the video is processed on the CPU. Build it: reelmend models compile';
      this.#options.warn({ error }, message);
      return job('cpu');
    }
  }

  async #runOnOne<T>(job: Job<T>, signal: AbortSignal | undefined, onGpusOnly: boolean): Promise<T> {
    const { device, hasGpu, warn } = this.#options;
    try {
      return await job(device);
    } catch (error) {
      if (signal?.aborted === true || !isDeviceFault(error)) throw error;
      if (namesGpus(device)) throw await this.#afterFault(error);
      if (device !== 'auto' || onGpusOnly || !hasGpu) throw error;
      warn({ error }, 'the GPU failed; the video is processed again on the CPU');
      return job('cpu');
    }
  }

  /** The error that a job ends with after a fault of the one GPU that the option names. Polls that GPU. */
  async #afterFault(fault: ReelmendError): Promise<ReelmendError> {
    await (this.#slots === undefined ? this.#currentSlots() : this.#poll());
    return this.lost.length > 0 ? gpuIsLost(fault) : fault;
  }

  /** Polls the GPUs after a failure. A lost GPU gets no jobs until it responds again. */
  async #runOnGpus<T>(job: Job<T>, signal: AbortSignal | undefined): Promise<T> {
    const used = new Set<string>();
    let failure = noUsableGpu();
    let healthyFailures = 0;
    while (healthyFailures < maxHealthyGpus) {
      const slot = leastBusy(await this.#currentSlots(), used);
      if (slot === undefined) break;
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
      if (slot.lostAt === undefined) healthyFailures += 1;
    }
    throw healthyFailures > 0 ? failure : gpuIsLost(failure);
  }

  async #currentSlots(): Promise<Slot[]> {
    this.#slots ??= this.#createSlots();
    const slots = await this.#slots.catch((error: unknown) => {
      this.#slots = undefined;
      throw error;
    });
    const { pollIntervalMs } = this.#options;
    const due = slots.some(({ lostAt }) => lostAt !== undefined && performance.now() - lostAt > pollIntervalMs);
    if (due) {
      const polled = this.#poll();
      // A job waits for the poll, also for one that runs already, only if no GPU is usable.
      if (slots.every(({ lostAt }) => lostAt !== undefined)) await polled;
      else polled.catch(() => {});
    }
    return slots;
  }

  async #createSlots(): Promise<Slot[]> {
    const { device } = this.#options;
    // Only `cuda:all` cannot be answered without a list of the devices. GPUs that are named count as lost, and are polled again.
    const devices = await this.#options.poll().catch((cause: unknown): DeviceInfo[] => {
      if (device === 'cuda:all') throw noUsableGpu(cause);
      return [];
    });
    const gpus = devices.filter(({ id }) => /^cuda:\d+$/.test(id));
    const ids = device === 'cuda:all' ? gpus.map(({ id }) => id) : [...new Set(device.split(','))];
    const slots = ids.map((id): Slot => ({ id, jobs: 0, lostAt: undefined, reason: '' }));
    this.#update(slots, gpus);
    return slots;
  }

  /** Concurrent callers share one poll. */
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
      const reason = found === undefined ? 'The driver does not list it.' : found.reason;
      const usable = found?.usable === true;
      if (usable && slot.lostAt !== undefined) warn({ device: slot.id, reason: '' }, 'a GPU can be used again');
      if (!usable && slot.lostAt === undefined) warn({ device: slot.id, reason }, 'a GPU cannot be used and gets no jobs');
      slot.lostAt = usable ? undefined : performance.now();
      slot.reason = usable ? '' : reason;
    }
    this.lost = slots.filter(({ lostAt }) => lostAt !== undefined).map(({ id, reason }) => ({ id, reason }));
  }
}

function leastBusy(slots: Slot[], used: ReadonlySet<string>): Slot | undefined {
  const usable = slots.filter(({ id, lostAt }) => lostAt === undefined && !used.has(id));
  return usable.reduce<Slot | undefined>((least, slot) => (least === undefined || slot.jobs < least.jobs ? slot : least), undefined);
}
