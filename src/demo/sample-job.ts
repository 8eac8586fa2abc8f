/** The job of the first start: the sample video, sent through the API as a customer would. */
import { SingleBar } from 'cli-progress';

interface JobView {
  id: string;
  status: string;
  progress: number;
  eta_seconds: number | null;
  error?: { message: string } | null;
}

export interface SampleJob {
  /** base URL of the API */
  url: string;
  /** a live key */
  key: string;
  sampleUrl: string;
  signal: AbortSignal;
}

/** Creates the job, shows its progress and returns the download link. Throws the job's error. */
export async function runSampleJob({ url, key, sampleUrl, signal }: SampleJob): Promise<string> {
  const call = async <T>(path: string, init: RequestInit = {}): Promise<T> => {
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
    const response = await fetch(`${url}${path}`, { ...init, headers, signal });
    const body = (await response.json()) as T & { error?: { message: string } };
    if (!response.ok) throw new Error(body.error?.message ?? `The service returned status ${response.status}.`);
    return body;
  };
  const body = JSON.stringify({ video_url: sampleUrl, resolution: '1080p' });
  const { id } = await call<JobView>('/v1/jobs', { method: 'POST', body });
  await showProgress(() => call<JobView>(`/v1/jobs/${id}`));
  return (await call<{ download_url: string }>(`/v1/jobs/${id}/result`)).download_url;
}

const pollIntervalMs = 250;

/** Polls until the job is done. */
async function showProgress(read: () => Promise<JobView>): Promise<void> {
  const format = '  sample job  {bar} {percentage} %  {status}';
  const bar = new SingleBar({ format, barsize: 30, stream: process.stdout, noTTYOutput: true, notTTYSchedule: 2000 });
  bar.start(100, 0, { status: 'queued' });
  try {
    for (;;) {
      const job = await read();
      bar.update(Math.floor(job.progress * 100), { status: job.status });
      if (job.status === 'error') throw new Error(job.error?.message ?? 'The job failed.');
      if (job.status === 'done') return bar.update(100, { status: 'done' });
      await new Promise((resolve) => setTimeout(resolve, pollIntervalMs));
    }
  } finally {
    bar.stop();
  }
}
