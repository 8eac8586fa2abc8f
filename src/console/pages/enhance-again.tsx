/** Creates another job of the same video with the same settings, for a job that has ended. */
import { RotateCcw } from 'lucide-react';
import { useId, useState } from 'react';
import { Link } from 'wouter';
import type { ConsoleJobDetail } from '../../contract/types.gen.ts';
import { formatCredits } from '../app/format.ts';
import { useNavigateWhileShown } from '../app/navigation.ts';
import { Button } from '../ui/button.tsx';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { DateTime, useNow } from '../ui/time.tsx';
import type { Body } from './quote.tsx';
import { useSubmitJob } from './submit-job.ts';

export function EnhanceAgain({ detail }: { detail: ConsoleJobDetail }) {
  const [asking, setAsking] = useState(false);
  const submitJob = useSubmitJob();
  const navigate = useNavigateWhileShown();
  const now = useNow();
  const body = bodyOf(detail);
  if (body === null) return null;
  const { job, upload_expires_at: end } = detail;
  // Checked before each render: a page may stay open for longer than an upload. An open dialog shows the service's refusal.
  if (!asking && job.upload_id !== null && (end === null || Date.parse(end) <= now)) return <UploadIsGone />;
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
          {end !== null && <p>The upload is kept until <DateTime at={end} />.</p>}
        </ConfirmDialog>
      )}
    </>
  );
}

/** The service keeps an upload for 24 hours. */
function UploadIsGone() {
  const reason = useId();
  return (
    <>
      <Button disabled aria-describedby={reason}>
        <RotateCcw size={15} aria-hidden="true" />
        Enhance again
      </Button>
      <p id={reason} className="small muted">
        The upload is no longer kept. <Link href="/enhance">Upload the file again</Link>
      </p>
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
