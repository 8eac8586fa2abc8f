/** A deletion certificate. The browser verifies it with the published keys. */
import { useQuery } from '@tanstack/react-query';
import { Download, RotateCw } from 'lucide-react';
import type { CertificatePayload } from '../../contract/types.gen.ts';
import { fetchPublishedKeys } from '../api/account.ts';
import { sentenceOf } from '../api/client.ts';
import { saveText } from '../app/download.ts';
import { formatBytes, formatDateTimeFull } from '../app/format.ts';
import { UnsupportedBrowserError, VerificationError, verifyCertificate } from '../evidence/verify.ts';
import { Button } from '../ui/button.tsx';
import { CodeBlock } from '../ui/code.tsx';
import { Notice, Skeleton } from '../ui/feedback.tsx';
import { Facts, Panel } from '../ui/panel.tsx';

export function CertificateProof({ jws }: { jws: string }) {
  const proof = useQuery({
    queryKey: ['proof', jws],
    queryFn: async () => {
      const { keys } = await fetchPublishedKeys();
      return (await verifyCertificate(jws, keys)) as CertificatePayload;
    },
    staleTime: Infinity,
    retry: false,
  });
  const save = () => saveText(`${proof.data?.id ?? 'deletion-certificate'}.jws`, `${jws}\n`, 'application/jose');
  return (
    <Panel
      title="Deletion certificate"
      note="This browser verifies the certificate with the published keys. The command line can do the same offline."
      actions={
        <Button size="small" onClick={save}>
          <Download size={14} aria-hidden="true" />
          Save
        </Button>
      }
    >
      <div className="stack">
        {proof.isPending && <Skeleton lines={3} />}
        {proof.isError && <Unverified error={proof.error} busy={proof.isFetching} onRetry={() => void proof.refetch()} />}
        {proof.data !== undefined && <Verified payload={proof.data} />}
        <details className="more">
          <summary>Show the certificate</summary>
          <CodeBlock text={jws} wrap label="certificate" />
        </details>
      </div>
    </Panel>
  );
}

/** Says whether the certificate is invalid, or only could not be verified. */
function Unverified({ error, busy, onRetry }: { error: unknown; busy: boolean; onRetry: () => void }) {
  const isInvalid = error instanceof VerificationError;
  const mayRetry = !isInvalid && !(error instanceof UnsupportedBrowserError);
  const title = isInvalid ? 'The certificate is not valid.' : 'The certificate could not be verified.';
  return (
    <Notice tone={isInvalid ? 'bad' : 'warn'} title={title}>
      {sentenceOf(error)}
      {mayRetry && (
        <div>
          <Button size="small" busy={busy} onClick={onRetry}>
            <RotateCw size={14} aria-hidden="true" />
            Try again
          </Button>
        </div>
      )}
    </Notice>
  );
}

const roleNames = {
  original: 'Source',
  output: 'Result',
  poster: 'Poster',
  thumbnail: 'Thumbnail',
  clip: 'Clip of a preview',
  segment: 'Piece of the result',
  upload: 'Upload',
} as const satisfies Record<CertificatePayload['objects'][number]['role'], string>;

const deletions = {
  customer: 'Deleted on request',
  retention: 'Deleted at the end of the retention',
  operator: 'Deleted when the account was closed',
} as const satisfies Record<CertificatePayload['actor'], string>;

function Verified({ payload }: { payload: CertificatePayload }) {
  return (
    <>
      <Notice tone="good" role="status" title="The signature is valid.">
        {deletions[payload.actor]}, {formatDateTimeFull(payload.deleted_at)}.
      </Notice>
      <Facts
        facts={[
          ['Job', <code key="job">{payload.job_id}</code>],
          ['Method', payload.method],
          ['Audit log', `entry ${payload.audit.sequence}`],
          ...payload.objects.map(
            (object) =>
              [
                roleNames[object.role],
                <span key={object.key} className="stack-s">
                  <span>
                    {object.size_bytes === null ? 'never complete' : formatBytes(object.size_bytes)}, verified absent {formatDateTimeFull(object.verified_absent_at)}
                  </span>
                  {object.sha256 !== null && <code className="faint">{object.sha256}</code>}
                </span>,
              ] as const,
          ),
        ]}
      />
    </>
  );
}
