/** Creates jobs at the displayed price, each once. */
import { useState } from 'react';
import { ApiError } from '../api/client.ts';
import { useCreateJob } from '../api/jobs.ts';
import { keepWhile } from '../api/uploads.ts';
import { newIdempotencyKey } from '../app/random.ts';
import { toast } from '../ui/toasts.tsx';
import type { Body, PricedVideo } from './quote.tsx';

/** The attempts to create the job of one video. They share a key, so that at most one of them creates it. */
interface Attempts {
  key: string;
  /** those that got no answer: any of them may have created the job */
  unanswered: Body[];
}

/** By mode and video, or what the caller names instead. Whoever leaves the page after a lost response, and comes back, does not pay twice. */
const attemptsOf = new Map<string, Attempts>();

type CreateJob = ReturnType<typeof useCreateJob>;

/** Returns the function that creates a job and resolves with its id. `credits` is the displayed price. Attempts with the same `subject` create one job. */
export function useSubmitJob() {
  const createJob = useCreateJob();
  return async (each: Body, credits: number | undefined, subject = each.request.upload_id ?? each.request.video_url): Promise<string> => {
    const body = withinQuote(each, credits);
    const name = `${body.mode} ${subject}`;
    const attempts = attemptsOf.get(name) ?? { key: newIdempotencyKey(), unanswered: [] };
    attemptsOf.set(name, attempts);
    const id = await createOnce(createJob, body, attempts);
    attemptsOf.delete(name);
    return id;
  };
}

/** The service refuses the key with another body if an attempt with the first one has created the job. */
async function createOnce(createJob: CreateJob, body: Body, attempts: Attempts): Promise<string> {
  const { key, unanswered } = attempts;
  const same = (other: Body) => JSON.stringify(other) === JSON.stringify(body);
  if (!unanswered.some(same)) unanswered.push(body);
  try {
    return (await createJob(body, key)).id;
  } catch (error) {
    // Nothing was done. Without an answer, or after a failure of a proxy, that is not known.
    if (error instanceof ApiError && error.status >= 400 && error.status < 500) attempts.unanswered = unanswered.filter((other) => !same(other));
    if (!isKeyReused(error)) throw error;
    const id = await idOfEarlier(createJob, attempts);
    if (id === null) throw error;
    toast('An earlier attempt had already created this job, with the settings of that time.');
    return id;
  }
}

/** The id of the job that one of the attempts without an answer has created. The same request once more returns it. */
async function idOfEarlier(createJob: CreateJob, { key, unanswered }: Attempts): Promise<string | null> {
  for (const body of unanswered) {
    try {
      return (await createJob(body, key)).id;
    } catch (error) {
      if (!isKeyReused(error)) throw error;
    }
  }
  return null;
}

const isKeyReused = (error: unknown) => error instanceof ApiError && error.code === 'idempotency_key_reused';

/** Never costs more than displayed, whatever the price is by now. Test mode costs nothing. */
function withinQuote({ mode, request }: Body, credits: number | undefined): Body {
  if (mode === 'test' || credits === undefined) return { mode, request };
  return { mode, request: { ...request, max_credits: credits } };
}

/** A job of this page that was created before another one failed. */
export interface CreatedJob {
  id: string;
  name: string;
  /** null for the video of a URL */
  uploadId: string | null;
}

export interface Submission {
  created: readonly CreatedJob[];
  /** name of the video whose job could not be created; null if there is none */
  failed: string | null;
}

const uploadsOf = (jobs: readonly CreatedJob[]): string[] => jobs.flatMap(({ uploadId }) => uploadId ?? []);

/**
 * Submits videos one after the other, and resolves with the ids of all jobs. After a failure, `submission` has those that were
 * created, and `submitted` their uploads, so that they are not submitted again.
 */
export function useSubmitAll() {
  const submitJob = useSubmitJob();
  const [submission, setSubmission] = useState<Submission>({ created: [], failed: null });
  const submitAll = async (videos: readonly PricedVideo[]): Promise<string[]> => {
    const created = [...submission.created];
    const submit = async () => {
      for (const { name, body, credits } of videos) {
        try {
          created.push({ id: await submitJob(body, credits), name: name ?? 'The video', uploadId: body.request.upload_id ?? null });
        } catch (error) {
          setSubmission({ created, failed: name });
          throw error;
        }
      }
    };
    // The page may be left before all are submitted.
    await keepWhile(videos.flatMap(({ body }) => body.request.upload_id ?? []), () => uploadsOf(created), submit);
    return created.map(({ id }) => id);
  };
  const submitted: ReadonlySet<string> = new Set(uploadsOf(submission.created));
  return { submission, submitted, submitAll, submitJob };
}
