/** Quotes and jobs: create, list, get, follow, delete. */
import type { Context } from 'hono';
import { omitUndefined } from '../../domain/omit-undefined.ts';
import { createJob } from '../create-job.ts';
import { deleteJob } from '../delete-job.ts';
import type { WithStreams } from '../deps.ts';
import type { AppEnv } from '../env.ts';
import { eventStream, jobEvents } from '../event-stream.ts';
import { toPage } from '../paging.ts';
import type { Handlers } from '../register.ts';
import { runningParts } from '../running-job.ts';
import { serializeJob } from '../serialize.ts';
import { createQuote } from '../create-quote.ts';
import { jobNotFound } from '../validation.ts';

type JobHandlers = Pick<
  Handlers,
  'createQuote' | 'createJob' | 'listJobs' | 'getJob' | 'streamJobEvents' | 'deleteJob'
>;

const defaultHeartbeatMs = 15_000;
const defaultStreamMs = 15 * 60_000;

export function jobHandlers(deps: WithStreams): JobHandlers {
  const { jobs } = deps.store;
  return {
    createQuote: async (c) => {
      const principal = c.get('principal');
      return c.json(await createQuote(deps, { principal, body: c.req.valid('json'), signal: c.req.raw.signal }), 200);
    },

    createJob: async (c) => {
      const { job, replayed } = await createJob(deps, {
        principal: c.get('principal'),
        body: c.req.valid('json'),
        idempotencyKey: c.req.valid('header')['Idempotency-Key'],
        signal: c.req.raw.signal,
      });
      c.set('jobId', job.id);
      c.header('Location', `/v1/jobs/${job.id}`);
      if (replayed) c.header('Idempotent-Replayed', 'true');
      return c.json(serializeJob(deps, job), 201);
    },

    listJobs: async (c) => {
      const { account, mode } = c.get('principal');
      const { limit, starting_after, status, created_after, created_before, metadata } = c.req.valid('query');
      const page = await jobs.list({
        accountId: account.id,
        mode,
        limit,
        ...(starting_after === undefined ? {} : { startingAfter: starting_after }),
        ...omitUndefined({ status, metadata, createdAfter: timeOf(created_after), createdBefore: timeOf(created_before) }),
      });
      return c.json(toPage(page.jobs, page.hasMore, { serialize: (job) => serializeJob(deps, job), cursor: ({ id }) => id }), 200);
    },

    getJob: async (c) => {
      const principal = c.get('principal');
      const job = await jobs.get(principal.account.id, principal.mode, c.req.valid('param').id);
      if (job === null) throw jobNotFound();
      return c.json({ ...serializeJob(deps, job), ...(await runningParts(deps, { job, principal, isRead: c.req.method !== 'HEAD' })) }, 200);
    },

    streamJobEvents: (c) => streamJob(c, deps, c.req.valid('param').id),

    deleteJob: async (c) => {
      const { id } = c.req.valid('param');
      return c.json(await deleteJob(deps, { principal: c.get('principal'), id, signal: c.req.raw.signal, notFound: jobNotFound }), 200);
    },
  };
}

/** The first and the last year that the database can read in RFC 3339. No job is older or younger. */
const [firstMs, lastMs] = [Date.parse('0001-01-01T00:00:00Z'), Date.parse('9999-12-31T23:59:59Z')];

const timeOf = (text: string | undefined): Date | undefined =>
  text === undefined ? undefined : new Date(Math.min(lastMs, Math.max(firstMs, Date.parse(text))));

async function streamJob(c: Context<AppEnv>, deps: WithStreams, jobId: string): Promise<Response> {
  const { account, mode, keyId } = c.get('principal');
  const { jobs } = deps.store;
  if ((await jobs.get(account.id, mode, jobId)) === null) throw jobNotFound();
  // For HEAD Hono calls this handler and drops the body: a watch started for it would never end.
  if (c.req.method === 'HEAD') return c.body(null, 200, { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' });
  return eventStream(c, {
    slot: deps.streams.open({ credential: keyId, accountId: account.id }),
    run: jobEvents({ jobId, serialize: (job) => serializeJob(deps, job), watch: (signal) => jobs.watch(account.id, mode, jobId, signal) }),
    heartbeatMs: deps.options?.eventHeartbeatMs ?? defaultHeartbeatMs,
    lifetimeMs: deps.options?.eventStreamMs ?? defaultStreamMs,
    onFailure: (err) => deps.logger.error({ err, request_id: c.get('requestId') }, 'an event stream failed'),
  });
}
