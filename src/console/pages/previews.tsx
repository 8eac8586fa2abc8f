/** The list of previews, and the page of one. */
import { Columns2, FileX } from 'lucide-react';
import { Link } from 'wouter';
import type { ConsolePreview, JobInput } from '../../contract/types.gen.ts';
import { isGone } from '../api/client.ts';
import { usePreview, usePreviews } from '../api/previews.ts';
import { formatCount } from '../app/format.ts';
import { useNavigateWhileShown } from '../app/navigation.ts';
import { LinkButton } from '../ui/button.tsx';
import { Empty, Failed, LoadList, Skeleton } from '../ui/feedback.tsx';
import { JobState, ModeBadge, StatusLine } from '../ui/job-status.tsx';
import { More } from '../ui/more.tsx';
import { Page, Panel } from '../ui/panel.tsx';
import { num, Table } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';
import { describeSetting, type Previewed, PreviewPanel } from './preview-result.tsx';
import { useSubmitJob } from './submit-job.ts';

export function PreviewsPage() {
  const list = usePreviews();
  return (
    <Page
      title="Previews"
      intro="A few seconds of a video with up to three settings, side by side."
      actions={<LinkButton href="/enhance" tone="primary">Enhance a video</LinkButton>}
    >
      <Panel title="All previews" flush>
        <LoadList query={list} empty={<NoPreviews />}>{(previews) => <PreviewTable previews={previews} />}</LoadList>
        <More list={list} />
      </Panel>
    </Page>
  );
}

function NoPreviews() {
  return (
    <Empty icon={Columns2} title="No previews yet">
      Choose a video on the page <Link href="/enhance">Enhance a video</Link> and compare settings before you pay for all of it.
    </Empty>
  );
}

function PreviewTable({ previews }: { previews: readonly ConsolePreview[] }) {
  return (
    <Table columns={['Source', 'Settings', 'Status', 'Mode', num('Credits'), num('Created')]}>
      {previews.map(({ preview, mode, source_name }) => (
        <tr key={preview.id}>
          <td data-label="Source">
            <Link href={`/previews/${preview.id}`} className="wrap-anywhere">
              {source_name || preview.id}
            </Link>
          </td>
          <td data-label="Settings" className="small">
            <div>
              {preview.settings.map((setting) => (
                <div key={JSON.stringify(setting)}>{describeSetting(setting)}</div>
              ))}
            </div>
          </td>
          <td data-label="Status">
            <JobState job={preview} />
          </td>
          <td data-label="Mode">
            <ModeBadge mode={mode} />
          </td>
          <td data-label="Credits" className="num">
            {formatCount(preview.credits_charged - preview.credits_refunded)}
          </td>
          <td data-label="Created" className="num small muted">
            <Ago at={preview.created_at} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

const back = { href: '/previews', label: 'Previews' };

export function PreviewPage({ id }: { id: string }) {
  const query = usePreview(id);
  const submitJob = useSubmitJob();
  const navigate = useNavigateWhileShown();
  const { data } = query;
  if (isGone(query.error)) {
    return (
      <Page title="Preview" back={back} intro={<code className="wrap-anywhere">{id}</code>}>
        <Empty icon={FileX} title="There is no such preview" action={<LinkButton href="/previews">All previews</LinkButton>}>
          It was deleted, or the URL is wrong.
        </Empty>
      </Page>
    );
  }
  if (data === undefined) {
    return (
      <Page title="Preview" back={back}>
        <div className="panel">{query.isPending ? <Skeleton lines={6} /> : <Failed error={query.error} onRetry={() => void query.refetch()} />}</div>
      </Page>
    );
  }
  const { preview, mode, source_name } = data;
  return (
    <Page
      title={source_name || 'Preview'}
      back={back}
      intro={<StatusLine of={preview} mode={mode} what="preview" />}
    >
      <PreviewPanel
        id={id}
        previewed={previewedOf(data)}
        onMake={async (body, credits) => navigate(`/jobs/${await submitJob(body, credits)}`)}
        onDeleted={() => navigate('/previews')}
      />
    </Page>
  );
}

/** The body of a job for the same video; the setting is added when one is chosen. */
function previewedOf({ preview, mode, video_url }: ConsolePreview): Previewed {
  const { upload_id, tier, source } = preview;
  const request: JobInput = {
    resolution: '1080p',
    ...(video_url === null ? {} : { video_url }),
    ...(upload_id === null ? {} : { upload_id }),
    ...(tier === 'secure' ? { secure: true } : {}),
  };
  return { body: { mode, request }, durationS: source?.duration ?? 0 };
}
