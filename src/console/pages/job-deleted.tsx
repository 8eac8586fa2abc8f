/** The page of a deleted job: its refund and, in the Secure tier, its certificate. */
import { useQuery } from '@tanstack/react-query';
import { FileX } from 'lucide-react';
import type { ConsoleJobDetail, JobDeletion } from '../../contract/types.gen.ts';
import { findCertificate } from '../api/account.ts';
import { formatCount } from '../app/format.ts';
import { LinkButton } from '../ui/button.tsx';
import { Empty, Failed, Notice } from '../ui/feedback.tsx';
import { Page, Panel } from '../ui/panel.tsx';
import { CertificateProof } from './certificate-proof.tsx';

interface DeletedProps {
  id: string;
  /** null if the job was not deleted on this page */
  deletion: JobDeletion | null;
  detail: ConsoleJobDetail | undefined;
}

const pollMs = 1500;

export function DeletedJob({ id, deletion, detail }: DeletedProps) {
  const secure = detail?.job.tier === 'secure';
  const issued = deletion?.certificate ?? null;
  const found = useQuery({
    queryKey: ['certificates', 'job', id],
    queryFn: () => findCertificate(id),
    enabled: issued === null && (secure || detail === undefined),
    // The storage usually confirms within seconds. A poll that failed is repeated, too.
    refetchInterval: ({ state }) => (secure && !state.data ? pollMs : false),
  });
  const certificate = issued ?? found.data?.certificate ?? null;
  const nothing = deletion === null && certificate === null && !secure && !found.isLoading;
  const unknown = nothing && found.isError;
  return (
    <Page title={detail?.source_name || 'Deleted job'} back={{ href: '/jobs', label: 'Jobs' }} intro={<code className="wrap-anywhere">{id}</code>}>
      {deletion !== null && (
        <Notice tone="good" role="status" title="The job is deleted.">
          {deletion.refunded_credits > 0 ? `${formatCount(deletion.refunded_credits)} credits were refunded.` : 'Its id is no longer known.'}
        </Notice>
      )}
      {certificate !== null && <CertificateProof jws={certificate} />}
      {certificate === null && secure && (
        <Panel title="Deletion certificate">
          <p className="row muted" role="status">
            <span className="spinner" aria-hidden="true" />
            Waiting for the storage to confirm that every file is gone…
          </p>
        </Panel>
      )}
      {unknown && (
        <div className="panel">
          <Failed error={found.error} onRetry={() => void found.refetch()} />
        </div>
      )}
      {nothing && !unknown && (
        <Empty icon={FileX} title="There is no such job" action={<LinkButton href="/jobs">All jobs</LinkButton>}>
          It was deleted, or the URL is wrong.
        </Empty>
      )}
    </Page>
  );
}
