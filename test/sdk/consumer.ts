/**
 * What the package test installs the package for: a consumer in an empty project, where its imports name the package.
 * `use` runs on Node and in the bundle for browsers; the rest of the file is for the type checker alone.
 */
import {
  createReelmend,
  JobFailedError,
  NotFoundError,
  verifyWebhook,
  WebhookVerificationError,
} from '../../src/sdk/index.ts';
import type { Reelmend, Job, JobInput, WebhookEvent, WebhookEventName, WebhookEvents } from '../../src/sdk/index.ts';

export interface Outcome {
  job: Job;
  progress: number[];
  resultUrl: string;
  failure: { code: string; status: string };
  afterDeletion: string;
  /** what verifyWebhook says of them */
  webhooks: string[];
}

const video = (name: string): JobInput => ({ video_url: `https://media.example.com/${name}.mp4`, resolution: '1080p' });

/** A delivery of 2026-11-21 that was signed elsewhere. */
const delivery = {
  body: '{"event":"job.completed","job_id":"job_01jdq4s9xkf5v8t2m6w0c3rhbz","status":"done"}',
  headers: {
    'webhook-id': 'evt_01jdq4s9xkf5v8t2m6w0c3rhbz',
    'webhook-timestamp': '1795248000',
    'webhook-signature': 'v1,/AiwAoN1lxi/dE1OkWGkLCcaxDK2+mrujE+d70C2TPc=',
    'x-service-signature': 'cdebdc69cdaab854ad71b1a75cdc7b29af12062570d035d89ef63f65c03a6486',
  },
  secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  toleranceS: 1e10,
};

async function verify(body: string): Promise<string> {
  try {
    return (await verifyWebhook({ ...delivery, body })).event;
  } catch (error) {
    return error instanceof WebhookVerificationError ? error.code : String(error);
  }
}

/** A job to its end and its deletion, one that fails, and two webhooks, one of them forged. */
export async function use(baseUrl: string, apiKey: string): Promise<Outcome> {
  const reelmend: Reelmend = createReelmend({ baseUrl, apiKey });
  const { id } = await reelmend.jobs.create(video('holiday'));
  const progress: number[] = [];
  const quick = { pollIntervalMs: 50, timeoutMs: 300_000 };
  const job = await reelmend.waitForJob(id, { ...quick, onProgress: (view) => progress.push(view.progress) });
  const { download_url } = await reelmend.jobs.result(id);

  const bad = await reelmend.jobs.create(video('processing_failed'));
  const failure = await reelmend.waitForJob(bad.id, quick).then(
    () => ({ code: 'none', status: 'done' }),
    (error: unknown) => {
      if (error instanceof JobFailedError) return { code: error.code, status: error.job.status };
      throw error;
    },
  );
  await reelmend.jobs.delete(id);
  const afterDeletion = await reelmend.jobs.get(id).then(
    () => 'still there',
    (error: unknown) => (error instanceof NotFoundError ? error.code : String(error)),
  );
  const webhooks = [await verify(delivery.body), await verify(`${delivery.body} `)];
  return { job, progress, resultUrl: download_url, failure, afterDeletion, webhooks };
}

/** Never called: the lines that must not compile. */
export async function refusedByTypes(reelmend: Reelmend, event: WebhookEvent): Promise<void> {
  // @ts-expect-error a resolution that does not exist
  await reelmend.jobs.create({ video_url: 'https://media.example.com/a.mp4', resolution: '8k' });
  // @ts-expect-error a field that does not exist
  await reelmend.jobs.create({ video_url: 'https://media.example.com/a.mp4', resolution: '4k', colour: 'red' });
  // @ts-expect-error a required field is missing
  await reelmend.jobs.create({ resolution: '4k' });
  // @ts-expect-error a URL and an upload
  await reelmend.jobs.create({ video_url: 'https://media.example.com/a.mp4', upload_id: 'upl_x', resolution: '4k' });
  // @ts-expect-error a number is no id
  await reelmend.jobs.get(7);
  // @ts-expect-error no such state
  await reelmend.jobs.list({ status: 'deleted' });
  if (event.event === 'job.completed') event.status satisfies 'done';
  ({ event: 'job.failed', job_id: 'job_x', status: 'error' }) satisfies WebhookEvents['job.failed'];
  // @ts-expect-error no such event
  'job.started' satisfies WebhookEventName;
  // @ts-expect-error the items of the list are jobs
  for await (const job of reelmend.jobs.list()) void job.colour;
  // @ts-expect-error a failed job is not done
  if (event.event === 'job.failed') event.status satisfies 'done';
  // @ts-expect-error no such option
  createReelmend({ baseUrl: 'https://a', key: 'b' });
}
