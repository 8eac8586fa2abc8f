/** Several GPUs in one worker: each job goes where the fewest are, and none to a device that is lost. */
import { ReelmendError } from '../domain/errors.ts';
import { isDeviceFault } from './failures.ts';
import type { DeviceInfo } from './types.ts';

/** `cuda:all`, or GPUs by number: `cuda:0,cuda:2`. One GPU, `auto` and `cpu` need no places. */
export const isPlaced = (device: string): boolean => device === 'cuda:all' || device.includes(',');

export interface PlacesOptions {
  device: string;
  /** the machine's devices, as the driver tells of them now */
  look: () => Promise<DeviceInfo[]>;
  /** told in one sentence of devices that are lost and come back */
  note: (details: { device: string; reason: string }, message: string) => void;
  /** ms until a lost device is looked at again (default one minute) */
  againMs?: number;
}

interface Place {
  id: string;
  jobs: number;
  /** `performance.now()` when it was found unusable */
  lostAt: number | undefined;
}

/** Besides the device that a job began on, the one more that it is tried on when nothing is wrong with the first. */
const mostTries = 2;

export class DevicePlaces {
  readonly #options: Required<PlacesOptions>;
  #places: Promise<Place[]> | undefined;
  #looking: Promise<void> | undefined;

  constructor(options: PlacesOptions) {
    this.#options = { againMs: 60_000, ...options };
  }

  /** Where the next job would go; undefined: nowhere. */
  async next(): Promise<string | undefined> {
    return pick(await this.#known(), new Set())?.id;
  }

  /**
   * Runs a job on the device with the fewest jobs. When the device fails, it is looked at: a lost one gets no more jobs
   * until it answers again, and the job is done on another. Rejects with the last device's fault when no other is left.
   */
  async run<T>(run: (device: string) => Promise<T>, signal?: AbortSignal): Promise<T> {
    const tried = new Set<string>();
    let failure: unknown = noDevice();
    for (let tries = 0; tries < mostTries; ) {
      const place = pick(await this.#known(), tried);
      if (place === undefined) throw failure;
      tried.add(place.id);
      place.jobs += 1;
      try {
        return await run(place.id);
      } catch (error) {
        if (!isDeviceFault(error) || signal?.aborted === true) throw error;
        failure = error;
      } finally {
        place.jobs -= 1;
      }
      await this.#look();
      if (place.lostAt === undefined) tries += 1;
    }
    throw failure;
  }

  async #known(): Promise<Place[]> {
    this.#places ??= this.#first();
    const places = await this.#places.catch((error: unknown) => {
      this.#places = undefined;
      throw error;
    });
    const due = places.some(({ lostAt }) => lostAt !== undefined && performance.now() - lostAt > this.#options.againMs);
    if (due && this.#looking === undefined) {
      const looked = this.#look();
      // Only where no other device can take the job is it worth waiting for.
      if (places.every(({ lostAt }) => lostAt !== undefined)) await looked;
      else looked.catch(() => {});
    }
    return places;
  }

  async #first(): Promise<Place[]> {
    const { device } = this.#options;
    const gpus = (await this.#options.look()).filter(({ id }) => /^cuda:\d+$/.test(id));
    const ids = device === 'cuda:all' ? gpus.map(({ id }) => id) : [...new Set(device.split(','))];
    const places = ids.map((id): Place => ({ id, jobs: 0, lostAt: undefined }));
    this.#judge(places, gpus);
    return places;
  }

  /** One look at a time serves all who wait. */
  #look(): Promise<void> {
    this.#looking ??= (async () => {
      const places = await this.#places!;
      this.#judge(places, await this.#options.look().catch(() => []));
    })().finally(() => (this.#looking = undefined));
    return this.#looking;
  }

  #judge(places: Place[], devices: DeviceInfo[]): void {
    for (const place of places) {
      const found = devices.find(({ id }) => id === place.id);
      const reason = found === undefined ? 'The driver does not tell of it.' : found.reason;
      const usable = found?.usable === true;
      if (usable && place.lostAt !== undefined) this.#options.note({ device: place.id, reason: '' }, 'a GPU can be used again');
      if (!usable && place.lostAt === undefined) this.#options.note({ device: place.id, reason }, 'a GPU cannot be used and gets no jobs');
      place.lostAt = usable ? undefined : performance.now();
    }
  }
}

function pick(places: Place[], tried: ReadonlySet<string>): Place | undefined {
  const free = places.filter(({ id, lostAt }) => lostAt === undefined && !tried.has(id));
  return free.reduce<Place | undefined>((least, place) => (least === undefined || place.jobs < least.jobs ? place : least), undefined);
}

function noDevice(): ReelmendError {
  return new ReelmendError('processing_failed', 'No GPU of this worker can be used.');
}
