/** The download link of a finished job. */
import { ReelmendError } from '../../domain/errors.ts';
import type { JobPicture, JobRecord } from '../../domain/job.ts';
import { linkValidityS } from '../../domain/limits.ts';
import { pictureFileName, resultFileName } from '../../domain/uploads.ts';
import { actorOf } from '../actor.ts';
import type { HttpDeps } from '../deps.ts';
import type { Handlers } from '../register.ts';
import { limitsOf } from '../serialize.ts';
import { jobNotFound } from '../validation.ts';

export function resultHandlers(deps: HttpDeps): Pick<Handlers, 'getJobResult'> {
  const { jobs, audit } = deps.store;
  return {
    getJobResult: async (c) => {
      const principal = c.get('principal');
      const { account, mode } = principal;
      const job = await jobs.get(account.id, mode, c.req.valid('param').id);
      if (job === null) throw jobNotFound();
      const result = await resultOf(deps, job);
      // Recorded before the response. A HEAD request gets no link.
      if (c.req.method !== 'HEAD') {
        await audit.record({ accountId: account.id, kind: 'result.accessed', jobId: job.id, data: { ...actorOf(principal) } });
      }
      return c.json(result, 200);
    },
  };
}

function assertDone(job: JobRecord): void {
  if (job.status === 'error') {
    const why = job.error?.message ?? 'the processing failed.';
    throw new ReelmendError('job_failed', `The job ended in error and has no result: ${why}`);
  }
  if (job.status !== 'done') {
    throw new ReelmendError('job_not_done', `The job is ${job.status}. Get its result when it is done.`);
  }
}

async function linkPictures(deps: HttpDeps, job: JobRecord, pictures: JobPicture[]) {
  const expiresInS = linkValidityS(limitsOf(deps));
  const linked = pictures.map(async ({ key, kind, ...facts }) => {
    const { url } = await deps.storage.link(key, { fileName: pictureFileName(job, { key }), contentType: 'image/jpeg', expiresInS });
    return { kind, picture: { url, ...facts } };
  });
  const all = await Promise.all(linked);
  return {
    poster: all.find(({ kind }) => kind === 'poster')?.picture ?? null,
    thumbnails: all.filter(({ kind }) => kind === 'thumbnail').map(({ picture }) => picture),
  };
}

async function resultOf(deps: HttpDeps, job: JobRecord) {
  const { store, storage } = deps;
  assertDone(job);
  const files = await store.jobs.resultFiles(job.id);
  // The job was deleted between the two queries.
  if (files === null) throw jobNotFound();
  const link = await storage.link(files.outputKey, {
    fileName: resultFileName(job),
    contentType: 'video/mp4',
    expiresInS: linkValidityS(limitsOf(deps)),
  });
  const expiresAt = job.expiresAt.toISOString();
  return {
    download_url: link.url,
    expires_in: link.expiresInS,
    ...(await linkPictures(deps, job, files.pictures)),
    retention: {
      auto_delete_at: expiresAt,
      delete_now: `DELETE /v1/jobs/${job.id}`,
      reminder:
        `Please delete this job once you have downloaded and checked the video: DELETE /v1/jobs/${job.id} destroys ` +
        `the original and the enhanced file at once. Otherwise both are deleted automatically at ${expiresAt}.`,
    },
  };
}
