/** Creates jobs at the displayed price, each once. */
import { useRef } from 'react';
import { useCreateJob } from '../api/jobs.ts';
import { newIdempotencyKey } from '../app/random.ts';
import type { Body } from './quote.tsx';

/** Returns the function that creates a job and resolves with its id. `credits` is the displayed price. */
export function useSubmitJob() {
  const createJob = useCreateJob();
  const keys = useRef(new Map<string, string>());
  return async (each: Body, credits: number | undefined): Promise<string> => {
    const body = withinQuote(each, credits);
    // A retry of the same submission keeps its key, so that a lost response never causes a second job.
    const text = JSON.stringify(body);
    const key = keys.current.get(text) ?? newIdempotencyKey();
    keys.current.set(text, key);
    return (await createJob(body, key)).id;
  };
}

/** Never costs more than displayed, whatever the price is by now. Test mode costs nothing. */
function withinQuote({ mode, request }: Body, credits: number | undefined): Body {
  if (mode === 'test' || credits === undefined) return { mode, request };
  return { mode, request: { ...request, max_credits: credits } };
}
