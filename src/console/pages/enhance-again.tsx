/** Creates another job of the same video with the same settings, for a job that has ended. */
import { RotateCcw } from 'lucide-react';
import { useState } from 'react';
import type { ConsoleJobDetail } from '../../contract/types.gen.ts';
import { formatCredits } from '../app/format.ts';
import { useNavigateWhileShown } from '../app/navigation.ts';
import { Button } from '../ui/button.tsx';
import { ConfirmDialog } from '../ui/dialog.tsx';
import type { Body } from './quote.tsx';
import { useSubmitJob } from './submit-job.ts';

export function EnhanceAgain({ detail }: { detail: ConsoleJobDetail }) {
  const [asking, setAsking] = useState(false);
  const submitJob = useSubmitJob();
  const navigate = useNavigateWhileShown();
  const body = bodyOf(detail);
  if (body === null) return null;
  const { job } = detail;
  const create = async () => {
    const id = await submitJob(body, job.sandbox ? undefined : job.credits_charged, `again ${job.id}`);
    setAsking(false);
    navigate(`/jobs/${id}`);
  };
  return (
    <>
      <Button onClick={() => setAsking(true)}>
        <RotateCcw size={15} aria-hidden="true" />
        Enhance again
      </Button>
      {asking && (
        <ConfirmDialog title="Enhance this video again?" action={job.sandbox ? 'Run in test mode' : 'Enhance'} onClose={() => setAsking(false)} onConfirm={create}>
          <p>This creates another job of the same video with the same settings. {job.sandbox ? 'Test jobs are free.' : `It costs at most ${formatCredits(job.credits_charged)}, the price of this one.`}</p>
          {job.upload_id !== null && <p>The upload must still be there: it is kept for 24 hours.</p>}
        </ConfirmDialog>
      )}
    </>
  );
}

/** null if the job has no video any more */
function bodyOf({ job, mode, video_url: url, webhook_url: webhook }: ConsoleJobDetail): Body | null {
  const video = url !== null ? { video_url: url } : job.upload_id !== null ? { upload_id: job.upload_id } : null;
  if (video === null) return null;
  const { resolution, requested, tier, metadata } = job;
  return {
    mode,
    request: {
      ...video,
      resolution,
      ...requested,
      ...(tier === 'secure' ? { secure: true } : {}),
      ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
      ...(webhook === null ? {} : { webhook_url: webhook }),
    },
  };
}
