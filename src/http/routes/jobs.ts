/** Jobs: create, list, get, result, delete. */
import { FrameliftError } from '../../domain/errors.ts';
import type { JobRecord } from '../../domain/job.ts';
import { linkValidityS } from '../../domain/limits.ts';
import { createJob } from '../creation.ts';
import type { HttpDeps } from '../deps.ts';
import type { Handlers } from '../handlers.ts';
import { presentJob } from '../present.ts';
import { jobNotFound } from '../validation.ts';

type JobHandlers = Pick<Handlers, 'createJob' | 'listJobs' | 'getJob' | 'getJobResult' | 'deleteJob'>;

export function jobHandlers(deps: HttpDeps): JobHandlers {
  const { jobs } = deps.store;
  return {
    createJob: async (c) => {
      const { job, replayed } = await createJob(deps, {
        principal: c.get('principal'),
        body: c.req.valid('json'),
        idempotencyKey: c.req.valid('header')['Idempotency-Key'],
        signal: c.req.raw.signal,
      });
      c.header('Location', `/v1/jobs/${job.id}`);
      if (replayed) c.header('Idempotent-Replayed', 'true');
      return c.json(presentJob(job), 201);
    },

    listJobs: async (c) => {
      const { account, lane } = c.get('principal');
      const { limit, starting_after, status } = c.req.valid('query');
      const page = await jobs.list({
        accountId: account.id,
        lane,
        limit,
        ...(starting_after === undefined ? {} : { startingAfter: starting_after }),
        ...(status === undefined ? {} : { status }),
      });
      const last = page.jobs.at(-1);
      const cursor = page.hasMore && last !== undefined ? last.id : null;
      return c.json({ data: page.jobs.map(presentJob), has_more: cursor !== null, next_cursor: cursor }, 200);
    },

    getJob: async (c) => {
      const { account, lane } = c.get('principal');
      const job = await jobs.get(account.id, lane, c.req.valid('param').id);
      if (job === null) throw jobNotFound();
      return c.json(presentJob(job), 200);
    },

    getJobResult: async (c) => {
      const { account, lane } = c.get('principal');
      const job = await jobs.get(account.id, lane, c.req.valid('param').id);
      if (job === null) throw jobNotFound();
      return c.json(await resultOf(deps, job), 200);
    },

    deleteJob: async (c) => {
      const { account, lane } = c.get('principal');
      const deletion = await jobs.delete(account.id, lane, c.req.valid('param').id);
      if (deletion === null) throw jobNotFound();
      const { id, deletedAt, refundedCredits } = deletion;
      return c.json(
        {
          id,
          deleted: true as const,
          deleted_at: deletedAt.toISOString(),
          refunded_credits: refundedCredits,
          certificate: null,
        },
        200,
      );
    },
  };
}

function assertDone(job: JobRecord): void {
  if (job.status === 'error') {
    const why = job.error?.message ?? 'the processing failed.';
    throw new FrameliftError('job_failed', `The job ended in error and has no result: ${why}`);
  }
  if (job.status !== 'done') {
    throw new FrameliftError('job_not_done', `The job is ${job.status}; its result can be fetched when it is done.`);
  }
}

async function resultOf({ store, storage }: HttpDeps, job: JobRecord) {
  assertDone(job);
  const key = await store.jobs.outputKey(job.id);
  // Deleted between the two queries.
  if (key === null) throw jobNotFound();
  const link = await storage.link(key, {
    fileName: `${job.id}-${job.resolution}.mp4`,
    contentType: 'video/mp4',
    expiresInS: linkValidityS,
  });
  return {
    download_url: link.url,
    expires_in: link.expiresInS,
    retention: {
      auto_delete_at: job.expiresAt.toISOString(),
      delete_now: `DELETE /v1/jobs/${job.id}`,
      reminder:
        'Delete the job once the video is downloaded; otherwise its files are deleted automatically at auto_delete_at.',
    },
  };
}
