/** Finds the jobs of an account that end while a command runs, by polling the API. */
import type { Job, Reelmend } from '../sdk/index.ts';
import { largestPage } from './videos.ts';

/** of one poll: a bound for an account that creates jobs faster than they can be read */
const mostPages = 100;

const hasEnded = ({ status }: Job) => status === 'done' || status === 'error';

/** Reads the jobs that there are; `next` of the result finds those that end afterwards. */
export async function endedJobs(reelmend: Reelmend): Promise<EndedJobs> {
  const { data, has_more: hasMore } = await reelmend.jobs.list({ limit: largestPage });
  const jobs = new EndedJobs(reelmend, { newest: data[0]?.id ?? '', oldest: hasMore ? data.at(-1)!.id : '' });
  jobs.update(data);
  for (const status of ['queued', 'running'] as const) for await (const job of reelmend.jobs.list({ status, limit: largestPage })) jobs.update([job]);
  return jobs;
}

class EndedJobs {
  readonly #reelmend: Reelmend;
  /** of the jobs of the last poll */
  #ended = new Set<string>();
  readonly #running = new Set<string>();
  /** Ids are in the order of time. Jobs older than this are known; they may move up to the first page when newer ones are deleted. */
  #oldest: string;
  /** id of the newest job of the last poll */
  #newest: string;

  constructor(reelmend: Reelmend, { newest, oldest }: { newest: string; oldest: string }) {
    this.#reelmend = reelmend;
    this.#newest = newest;
    this.#oldest = oldest;
  }

  /** Remembers the state of these jobs; returns those that were not known to have ended. */
  update(jobs: Job[]): Job[] {
    const ended = jobs.filter((job) => hasEnded(job) && !this.#ended.has(job.id));
    for (const job of jobs) {
      if (hasEnded(job)) this.#ended.add(job.id);
      if (hasEnded(job)) this.#running.delete(job.id);
      else this.#running.add(job.id);
    }
    return ended;
  }

  /** The jobs that have ended since the last call, oldest end first. */
  async next(signal: AbortSignal): Promise<Job[]> {
    const listed = (await this.#newJobs(signal)).filter(({ id }) => id >= this.#oldest || this.#running.has(id));
    const others = await this.#otherEndedJobs(listed, signal);
    // All that can fail is behind us: what is remembered is returned.
    this.#newest = listed[0]?.id ?? this.#newest;
    const ended = this.update([...listed, ...others]);
    this.#forgetOld(listed);
    return ended.toSorted((a, b) => (a.finished_at ?? '').localeCompare(b.finished_at ?? ''));
  }

  /** The newest page, and those after it until one reaches back to the newest job of the last poll: there may be many new jobs. */
  async #newJobs(signal: AbortSignal): Promise<Job[]> {
    const jobs: Job[] = [];
    let pages = 0;
    for await (const { data } of this.#reelmend.jobs.list({ limit: largestPage }, { signal }).pages()) {
      jobs.push(...data);
      if (++pages === mostPages || data.some(({ id }) => id <= this.#newest)) break;
    }
    return jobs;
  }

  /** What is neither listed nor newer than all that is listed does not come back: it is deleted, or older than `#oldest` from now on. */
  #forgetOld(listed: Job[]): void {
    this.#ended = new Set(listed.filter(hasEnded).map(({ id }) => id));
    if (listed.length >= largestPage && listed.at(-1)!.id > this.#oldest) this.#oldest = listed.at(-1)!.id;
  }

  /**
   * The running jobs that have ended, of those that are not among the newest any more. Only these are read one by one: lists take a
   * hundred jobs from the key's quota of reads at once, and the audit log names each read of a job that has a part of its result.
   */
  async #otherEndedJobs(listed: Job[], signal: AbortSignal): Promise<Job[]> {
    const newest = new Set(listed.map(({ id }) => id));
    const others = [...this.#running].filter((id) => !newest.has(id));
    if (others.length === 0) return [];
    const open = await this.#openJobs(signal);
    const jobs: Job[] = [];
    for (const id of others.filter((one) => !open.has(one))) {
      const job = await this.#reelmend.jobs.get(id, { signal }).catch(unlessDeleted);
      if (job === undefined) this.#running.delete(id);
      else jobs.push(job);
    }
    return jobs;
  }

  /** Queued ones first: a job that begins meanwhile is in the second list. */
  async #openJobs(signal: AbortSignal): Promise<Set<string>> {
    const open = new Set<string>();
    for (const status of ['queued', 'running'] as const) {
      for await (const { id } of this.#reelmend.jobs.list({ status, limit: largestPage }, { signal })) open.add(id);
    }
    return open;
  }
}

async function unlessDeleted(error: unknown): Promise<undefined> {
  const { NotFoundError } = await import('../sdk/errors.ts');
  if (!(error instanceof NotFoundError)) throw error;
}
