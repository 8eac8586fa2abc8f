/** Jobs of the session's account, in both modes. */
import type { Context } from 'hono';
import type { ConsoleJobDetail, ConsoleLink, ConsolePicture } from '../../contract/types.gen.ts';
import { ReelmendError } from '../../domain/errors.ts';
import type { JobPicture, JobRecord, Mode } from '../../domain/job.ts';
import { errorHelp, sourceName, timelineText } from '../../domain/job-words.ts';
import { linkValidityS } from '../../domain/limits.ts';
import { pictureFileName, resultFileName } from '../../domain/uploads.ts';
import type { ConsoleJobDetail as DetailRecord, JobFile } from '../../store/index.ts';
import type { JobSegment, UserPrincipal } from '../../store/types.ts';
import { createJob } from '../create-job.ts';
import { deleteJob } from '../delete-job.ts';
import type { AppEnv } from '../env.ts';
import { eventStream } from '../event-stream.ts';
import type { ConsoleHandlers } from '../register.ts';
import { assertApproved } from '../middleware/authenticate.ts';
import { serializeSegment } from '../running-job.ts';
import { limitsOf, serializeJob } from '../serialize.ts';
import { createQuote } from '../create-quote.ts';
import { jobNotFound } from '../validation.ts';
import type { WithConsole } from '../deps.ts';
import { pageOf } from '../paging.ts';
import { serializeConsoleJob } from './serialize.ts';

type JobHandlers = Pick<
  ConsoleHandlers,
  | 'consoleListJobs'
  | 'consoleCreateJob'
  | 'consoleCreateQuote'
  | 'consoleGetJob'
  | 'consoleDeleteJob'
  | 'consoleGetJobLinks'
  | 'consoleStreamJobs'
>;

/** A signed-in user has the rights of a Secure key of the account. Each call names its mode. */
export function principalOf(c: Context<AppEnv>, mode: Mode): UserPrincipal {
  const { account, user, sessionId } = c.get('session');
  return { kind: 'user', userId: user.id, mode, tier: 'secure', account, sessionId };
}

/** Prefixes `param` of errors: the console sends the body of a job or preview in the field `request`. */
export async function insideRequest<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof ReelmendError) || error.param === undefined) throw error;
    throw error.withParam(`/request${error.param}`);
  }
}

export function jobHandlers(deps: WithConsole): JobHandlers {
  const { store } = deps.console;
  /** Throws ReelmendError `job_not_found`. */
  const ownJob = async (c: Context<AppEnv>, id: string): Promise<JobRecord> => {
    const job = await store.consoleJobs.get(c.get('session').account.id, id);
    if (job === null) throw jobNotFound();
    return job;
  };
  return {
    consoleListJobs: async (c) => {
      const { limit, starting_after, mode, status, q } = c.req.valid('query');
      const accountId = c.get('session').account.id;
      const query = { accountId, limit, startingAfter: starting_after, mode, status, text: q };
      const rows = await store.consoleJobs.list(query);
      return c.json(pageOf(rows, limit, { serialize: (job) => serializeConsoleJob(deps, job), cursor: ({ id }) => id }), 200);
    },

    consoleCreateJob: async (c) => {
      const { mode, request: body } = c.req.valid('json');
      const principal = principalOf(c, mode);
      assertApproved(principal);
      const idempotencyKey = c.req.valid('header')['Idempotency-Key'];
      const { job } = await insideRequest(
        createJob(deps, { principal, body, idempotencyKey, signal: c.req.raw.signal }),
      );
      return c.json(serializeConsoleJob(deps, job), 201);
    },

    consoleCreateQuote: async (c) => {
      const { mode, request: body } = c.req.valid('json');
      const principal = principalOf(c, mode);
      assertApproved(principal);
      return c.json(await insideRequest(createQuote(deps, { principal, body, signal: c.req.raw.signal })), 200);
    },

    consoleGetJob: async (c) => {
      const detail = await store.consoleJobs.detail(c.get('session').account.id, c.req.valid('param').id);
      if (detail === null) throw jobNotFound();
      const { id, status } = detail.job;
      return c.json(serializeDetail(deps, detail, status === 'running' ? await store.jobs.segments(id) : []), 200);
    },

    consoleDeleteJob: async (c) => {
      const { mode, tier, id } = await ownJob(c, c.req.valid('param').id);
      const principal = { ...principalOf(c, mode), tier };
      return c.json(await deleteJob(deps, { principal, id, signal: c.req.raw.signal, notFound: jobNotFound }), 200);
    },

    consoleGetJobLinks: async (c) => {
      const { account, user } = c.get('session');
      const files = await store.consoleJobs.files(account.id, c.req.valid('param').id);
      if (files === null) throw jobNotFound();
      const { job, original, output, pictures } = files;
      const result = await linkTo(deps, output, { fileName: resultFileName(job), contentType: 'video/mp4' });
      const source = await linkTo(deps, original, sourceNameAndType(job));
      // Recorded before the response. A HEAD request gets no link.
      const record = async (kind: 'source.accessed' | 'result.accessed', link: ConsoleLink | null) => {
        if (link !== null && c.req.method !== 'HEAD') await store.audit.record({ accountId: account.id, kind, jobId: job.id, data: { user_id: user.id } });
      };
      await record('source.accessed', source);
      await record('result.accessed', result);
      return c.json({ result, source, pictures: await linkPictures(deps, job, pictures) }, 200);
    },

    consoleStreamJobs: (c) => streamJobs(c, deps),
  };
}

function serializeDetail(deps: WithConsole, { job, uploadExpiresAt, timeline, charges }: DetailRecord, segments: JobSegment[]): ConsoleJobDetail {
  return {
    job: serializeJob(deps, job),
    mode: job.mode,
    source_name: sourceName(job),
    video_url: job.videoUrl,
    upload_expires_at: uploadExpiresAt?.toISOString() ?? null,
    webhook_url: job.webhookUrl,
    model: job.model,
    requested: job.enhancements,
    error_help: job.error === null ? null : errorHelp(job.mode, job.error.code),
    timeline: timeline.map(({ at, kind, data }) => ({ at: at.toISOString(), kind, text: timelineText(kind, job.mode), data })),
    charges: charges.map((charge) => ({ ...charge, at: charge.at.toISOString() })),
    segments: segments.map(serializeSegment),
  };
}

/** Content types that browsers can play, by FFmpeg's name of the container. */
const sourceTypes = [
  [/webm|matroska/, 'video/webm', 'webm'],
  [/mov|mp4/, 'video/mp4', 'mp4'],
] as const;

function sourceNameAndType({ id, source, fileName }: JobRecord): { fileName: string; contentType: string } {
  const [, contentType, extension] = sourceTypes.find(([pattern]) => pattern.test(source?.container ?? 'mp4')) ?? [
    null,
    'application/octet-stream',
    'bin',
  ];
  return { fileName: fileName ?? `${id}-source.${extension}`, contentType };
}

/** Links to this service are relative: the page may have been opened under another host name of the service. */
async function linkTo(
  deps: WithConsole,
  file: JobFile | null,
  named: { fileName: string; contentType: string },
): Promise<ConsoleLink | null> {
  if (file === null) return null;
  const { storage } = deps;
  const { url, expiresInS } = await storage.link(file.key, { ...named, expiresInS: linkValidityS(limitsOf(deps)) });
  const { pathname, search } = new URL(url);
  const href = storage.kind === 'filesystem' ? `${pathname}${search}` : url;
  return { url: href, expires_in: expiresInS, file_name: named.fileName, size_bytes: file.size };
}

async function linkPictures(deps: WithConsole, job: JobRecord, pictures: JobPicture[]): Promise<ConsolePicture[]> {
  const linked = pictures.map(async ({ kind, key, size_bytes: size, time, width, height }) => {
    const named = { fileName: pictureFileName(job, { key }), contentType: 'image/jpeg' };
    const link = await linkTo(deps, { key, size }, named);
    return link === null ? [] : [{ kind, time, width, height, link }];
  });
  return (await Promise.all(linked)).flat();
}

const defaultHeartbeatMs = 15_000;
const longestStreamMs = 5 * 60_000;

function streamJobs(c: Context<AppEnv>, deps: WithConsole): Response {
  const { options = {}, logger } = deps;
  const { account, sessionId } = c.get('session');
  const headers = { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' };
  if (c.req.method === 'HEAD') return c.body(null, 200, headers);
  return eventStream(c, {
    slot: deps.streams.open({ credential: sessionId, accountId: account.id }),
    async run(signal, send) {
      for await (const { id, job } of deps.console.store.consoleJobs.watch(account.id, signal)) {
        if (job === null) await send('deleted', { id, deleted: true });
        else await send('job', serializeConsoleJob(deps, job));
      }
    },
    heartbeatMs: options.eventHeartbeatMs ?? defaultHeartbeatMs,
    lifetimeMs: Math.min(options.eventStreamMs ?? longestStreamMs, longestStreamMs),
    onFailure: (err) => logger.error({ err, request_id: c.get('requestId') }, 'an event stream failed'),
  });
}
