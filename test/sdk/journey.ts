/** What the test of the runtimes runs in each of them, in a project where the import names the package. */
import { createReelmend } from '../../src/sdk/index.ts';
import { type Outcome, use } from './consumer.ts';

export interface Journey {
  outcome: Outcome;
  /** status and name of a file in two parts */
  upload: string[];
  /** state of the job with the last of its server-sent events */
  lastEvent: string | undefined;
  jobs: number;
  /** whether the result in memory, and the file, are those of the job */
  whole: boolean[];
  /** connections that these took */
  connections: number;
}

/** `path`: where the runtime can write a result, if it can. */
export async function journey(baseUrl: string, apiKey: string, path?: string): Promise<Journey> {
  const outcome = await use(baseUrl, apiKey);
  let connections = 0;
  const counted = (request: Request) => {
    if (request.url.includes('/v1/downloads/')) connections += 1;
    return fetch(request);
  };
  const reelmend = createReelmend({ baseUrl, apiKey, fetch: counted });
  const { id: upload_id, status, file_name } = await reelmend.uploads.create(new Blob([new Uint8Array(9_000_000)]), { name: 'film.mov' });
  const { id } = await reelmend.jobs.create({ upload_id, resolution: '1080p' });
  let lastEvent: string | undefined;
  for await (const { job } of reelmend.jobs.events(id)) lastEvent = 'status' in job ? job.status : 'deleted';
  let jobs = 0;
  for await (const _job of reelmend.jobs.list({ limit: 1 })) jobs += 1;
  const { output } = await reelmend.jobs.get(id);
  const whole = [(await reelmend.jobs.downloadBlob(id)).size === output?.size_bytes];
  if (path !== undefined) whole.push((await reelmend.jobs.download(id, path)).sha256 === output?.sha256);
  return { outcome, upload: [status, file_name], lastEvent, jobs, whole, connections };
}
