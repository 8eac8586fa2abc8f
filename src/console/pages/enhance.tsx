/** The form for a new job. It can be submitted once its price is known. */
import { Sparkles } from 'lucide-react';
import { useState } from 'react';
import type { JobInput, Mode, Resolution } from '../../contract/types.gen.ts';
import { ApiError, problemOf } from '../api/client.ts';
import { useSession } from '../api/session.ts';
import { isKept } from '../api/uploads.ts';
import { formatBytes, formatDuration, formatTarget, plural } from '../app/format.ts';
import { useLeaveGuard, useLeaveQuestion } from '../app/leave-guard.tsx';
import { useNavigateWhileShown } from '../app/navigation.ts';
import { Button } from '../ui/button.tsx';
import { useAction } from '../ui/dialog.tsx';
import { ErrorNotice } from '../ui/feedback.tsx';
import { CheckField, Choices, SelectField, TextField } from '../ui/field.tsx';
import { Form } from '../ui/form.tsx';
import { Page, Panel } from '../ui/panel.tsx';
import { CreatedJobs } from './created-jobs.tsx';
import { FilePicker } from './file-picker.tsx';
import { ApprovalNotice } from './home.tsx';
import { LowCreditsNotice } from './low-credits.tsx';
import { PreviewPart } from './preview.tsx';
import type { Previewed } from './preview-result.tsx';
import { QuotePanel, type QuoteState, useQuote, type Video } from './quote.tsx';
import { useSubmitAll } from './submit-job.ts';
import type { UploadedFile } from './upload-queue.ts';

type SourceKind = 'sample' | 'url' | 'file';
type Stage = 'denoise' | 'sharpen' | 'face_restoration' | 'adaptive_contrast';

export interface Draft {
  mode: Mode;
  kind: SourceKind;
  url: string;
  /** of the chosen files; null while one is being sent */
  uploads: readonly UploadedFile[] | null;
  resolution: Resolution;
  secure: boolean;
  webhook: string;
  model: string;
  /** as in the request; numbers as text */
  quality: string;
  /** Mbit/s, as typed */
  maxBitrate: string;
  pictures: boolean;
  strengths: Record<Stage, string>;
}

const stages: readonly { name: Stage; label: string }[] = [
  { name: 'denoise', label: 'Denoise' },
  { name: 'sharpen', label: 'Sharpen' },
  { name: 'face_restoration', label: 'Faces' },
  { name: 'adaptive_contrast', label: 'Contrast' },
];

export function EnhancePage() {
  const session = useSession();
  const approved = session.account.approval_status === 'approved';
  const [draft, setDraft] = useState<Draft>(() => firstDraft(approved, session.capabilities.sample_url.live !== null));
  const patch = (part: Partial<Draft>) => setDraft((old) => ({ ...old, ...part }));
  const { submission, submitted, submitAll, submitJob } = useSubmitAll();
  const videos = videosOf(draft, session.capabilities.sample_url).filter(({ body: { request } }) => !submitted.has(request.upload_id ?? ''));
  const quote = useQuote(videos);
  const priced = quote.data?.priced ?? [];
  const navigate = useNavigateWhileShown();
  const { run, busy, error } = useAction(async () => {
    const ids = await submitAll(priced).catch((cause: unknown) => {
      if (!(cause instanceof ApiError && cause.code === 'max_credits_exceeded')) throw cause;
      quote.refetch();
      throw new Error('The price has risen since it was shown. Look at the new one, and submit again.', { cause });
    });
    navigate(ids.length === 1 ? `/jobs/${ids[0]}` : '/jobs');
  });
  const hasFiles = draft.kind === 'file' && (draft.uploads === null || videos.length > 0);
  useLeaveGuard(busy || hasFiles);
  // Jobs and previews that are being created keep their files, and go on without the page.
  const isLost = ({ body: { request } }: Video) => !isKept(request.upload_id ?? '');
  useLeaveQuestion(() => (hasFiles && (draft.uploads === null || videos.some(isLost)) ? 'The service deletes the files that you have not submitted.' : null));
  const submit = () => {
    if (quote.data !== undefined) run();
  };
  const problem = (field: string) => problemOf(error, `request/${field}`) ?? problemOf(quote.error, `request/${field}`);
  return (
    <Page title="Enhance a video" intro="You see the price before you submit, and never pay more. A failed job is refunded automatically.">
      <ApprovalNotice />
      {draft.mode === 'live' && <LowCreditsNotice />}
      <Form className="split" onSubmit={submit}>
        <div className="stack-l">
          <SourcePanel {...{ draft, patch, approved, submitted }} problem={problem('video_url')} />
          <TargetPanel draft={draft} patch={patch} />
          <Extras draft={draft} patch={patch} problem={problem} />
        </div>
        <div className="quote stack">
          <QuotePanel quote={quote} mode={draft.mode} ready={videos.length > 0} />
          <CreatedJobs submission={submission} />
          {error !== null && <ErrorNotice error={error} />}
          <Button type="submit" tone="primary" wide busy={busy} disabled={quote.data === undefined || quote.isStale}>
            <Sparkles size={15} aria-hidden="true" />
            {draft.mode === 'live' ? 'Enhance' : 'Run in test mode'}
            {videos.length > 1 && ` (${plural(priced.length === 0 ? videos.length : priced.length, 'video')})`}
          </Button>
        </div>
      </Form>
      <PreviewPart previewed={previewedOf(videos, quote)} onMake={async (body, credits) => navigate(`/jobs/${await submitJob(body, credits)}`)} />
    </Page>
  );
}

/** Previews are of one video, whose length the quote knows. */
function previewedOf(videos: Video[], { data, isStale }: QuoteState): Previewed | null {
  const [video] = videos;
  if (video === undefined || videos.length > 1 || data === undefined || isStale) return null;
  return { body: video.body, durationS: data.source?.duration ?? data.duration_seconds };
}

function firstDraft(approved: boolean, liveSample: boolean): Draft {
  return {
    mode: approved ? 'live' : 'test',
    kind: approved && !liveSample ? 'url' : 'sample',
    url: '',
    uploads: [],
    resolution: '1080p',
    secure: false,
    webhook: '',
    model: 'auto',
    quality: 'standard',
    maxBitrate: '',
    pictures: false,
    strengths: { denoise: 'auto', sharpen: 'auto', face_restoration: 'auto', adaptive_contrast: 'auto' },
  };
}

/** The videos with their request bodies; none while no source is chosen. */
function videosOf(draft: Draft, sample: { live: string | null; test: string }): Video[] {
  const { mode, kind } = draft;
  if (kind === 'file') return (draft.uploads ?? []).map(({ id, name }) => ({ name, body: { mode, request: requestOf(draft, { upload_id: id }) } }));
  const url = kind === 'sample' ? sample[mode] : draft.url.trim();
  if (url === null || !isVideoUrl(url)) return [];
  return [{ name: null, body: { mode, request: requestOf(draft, { video_url: url }) } }];
}

function requestOf({ resolution, secure, webhook, model, strengths, ...encoding }: Draft, video: { video_url: string } | { upload_id: string }): JobInput {
  const request: JobInput = { ...video, resolution };
  if (secure) request.secure = true;
  if (webhook.trim() !== '') request.webhook_url = webhook.trim();
  if (model !== 'auto') request.model = model;
  const output = outputOf(encoding);
  if (output !== undefined) request.output = output;
  for (const { name } of stages) {
    const strength = strengths[name];
    if (strength === 'auto') continue;
    request.enhancements = { ...request.enhancements, [name]: strength === 'off' ? 'off' : Number(strength) };
  }
  return request;
}

const qualities = [
  ['standard', 'Standard, hard to tell from the original frames'],
  ['high', 'High, for further editing'],
  ['20', 'Smaller file (CRF 20)'],
  ['24', 'Small file (CRF 24)'],
  ['28', 'Smallest file (CRF 28)'],
] as const;

/** as many thumbnails as fit into a row */
const thumbnails = 5;

function outputOf({ quality, maxBitrate, pictures }: Pick<Draft, 'quality' | 'maxBitrate' | 'pictures'>): JobInput['output'] {
  const output: NonNullable<JobInput['output']> = {};
  if (quality === 'high') output.quality = quality;
  else if (quality !== 'standard') output.quality = Number(quality);
  if (maxBitrate !== '') output.max_bitrate = Math.round(Number(maxBitrate) * 1e6);
  if (pictures) Object.assign(output, { poster: true, thumbnails });
  return Object.keys(output).length === 0 ? undefined : output;
}

interface PartProps {
  draft: Draft;
  patch: (part: Partial<Draft>) => void;
}

interface SourceProps extends PartProps {
  approved: boolean;
  /** uploads that have become jobs */
  submitted: ReadonlySet<string>;
  problem: string | undefined;
}

function SourcePanel({ draft, patch, approved, submitted, problem }: SourceProps) {
  const { capabilities, limits } = useSession();
  const { mode, kind } = draft;
  const most = `Up to ${formatDuration(limits.max_duration_seconds)} and ${formatBytes(limits.max_file_size_bytes)}.`;
  const noSample = capabilities.sample_url[mode] === null;
  // Falls back when the other mode does not offer the chosen kind.
  const kindFor = (next: Mode): SourceKind => (kind === 'sample' && capabilities.sample_url[next] === null ? 'url' : kind);
  return (
    <Panel title="Source">
      <div className="stack">
        <Choices<Mode>
          label="Mode"
          value={mode}
          onChange={(next) => patch({ mode: next, kind: kindFor(next), uploads: [] })}
          choices={[
            { value: 'live', title: 'Live', text: approved ? 'Enhances the video and charges you.' : 'Needs an approved account.', disabled: !approved },
            { value: 'test', title: 'Test', text: 'A simulated job. Fetches and charges nothing.' },
          ]}
        />
        <Choices<SourceKind>
          label="Video"
          value={kind}
          onChange={(next) => patch({ kind: next, uploads: [] })}
          choices={[
            { value: 'sample', title: 'Sample', text: noSample ? 'This service cannot fetch its own sample.' : 'A bundled clip of a few seconds.', disabled: noSample },
            { value: 'url', title: 'URL', text: 'A public https:// link to the file.' },
            { value: 'file', title: 'Files', text: 'From this computer, or whole folders.' },
          ]}
        />
        {kind === 'url' && (
          <UrlField
            url={draft.url}
            problem={problem}
            hint={mode === 'test' ? 'In test mode the file name selects the outcome, such as slow.mp4 or processing_failed.mp4.' : most}
            onChange={(url) => patch({ url })}
          />
        )}
        {/* An upload belongs to its mode. */}
        {kind === 'file' && <FilePicker key={mode} mode={mode} submitted={submitted} onUploads={(uploads) => patch({ uploads })} />}
      </div>
    </Panel>
  );
}

interface UrlFieldProps {
  url: string;
  /** what the service says about it */
  problem: string | undefined;
  hint: string;
  onChange: (url: string) => void;
}

function UrlField({ url, problem, hint, onChange }: UrlFieldProps) {
  const [isLeft, setLeft] = useState(false);
  const typed = url.trim();
  // No mistake is reported while `https://` is being typed.
  const isBegun = !isLeft && ['https://', 'http://'].some((scheme) => scheme.startsWith(typed.toLowerCase()));
  const isWrong = typed !== '' && !isBegun && !isVideoUrl(typed);
  return (
    <TextField
      label="Video URL"
      type="url"
      inputMode="url"
      placeholder="https://media.example.com/holiday.mp4"
      value={url}
      problem={isWrong ? 'Enter a whole URL, such as https://media.example.com/holiday.mp4.' : problem}
      hint={hint}
      onBlur={() => setLeft(true)}
      onFocus={() => setLeft(false)}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

/** The service checks the rest. */
const isVideoUrl = (text: string): boolean => /^https?:\/\/[^/]/i.test(text) && URL.canParse(text);

function TargetPanel({ draft, patch }: PartProps) {
  const { pricing } = useSession();
  const price = (tier: 'standard' | 'secure', target: Resolution) => `$${pricing[tier].per_minute[target].toFixed(2)} per minute`;
  const tier = draft.secure ? 'secure' : 'standard';
  return (
    <Panel title="Target">
      <div className="stack">
        <Choices<Resolution>
          label="Size"
          value={draft.resolution}
          onChange={(resolution) => patch({ resolution })}
          choices={[
            { value: '1080p', title: formatTarget('1080p'), text: `Fits into 1920 × 1080. ${price(tier, '1080p')}.` },
            { value: '4k', title: formatTarget('4k'), text: `Fits into 3840 × 2160. ${price(tier, '4k')}.` },
          ]}
        />
        <SelectField label="Quality" value={draft.quality} onChange={(event) => patch({ quality: event.target.value })}>
          {qualities.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </SelectField>
        <CheckField
          label="Secure tier"
          hint={`A signed certificate proves the deletion of all files. ${price('secure', draft.resolution)}.`}
          checked={draft.secure}
          onChange={(event) => patch({ secure: event.target.checked })}
        />
      </div>
    </Panel>
  );
}

function EnhancementFields({ draft, patch }: PartProps) {
  const { models } = useSession().limits;
  return (
    <div className="form-grid">
      {stages.map(({ name, label }) => (
        <SelectField
          key={name}
          label={label}
          value={draft.strengths[name]}
          onChange={(event) => patch({ strengths: { ...draft.strengths, [name]: event.target.value } })}
        >
          <option value="auto">Automatic</option>
          <option value="off">Off</option>
          <option value="0.25">Light</option>
          <option value="0.5">Medium</option>
          <option value="0.8">Strong</option>
        </SelectField>
      ))}
      <SelectField label="Model" value={draft.model} onChange={(event) => patch({ model: event.target.value })}>
        <option value="auto">Automatic</option>
        <option value="none">None, filters only</option>
        {models.filter((model) => model !== 'auto' && model !== 'none').map((model) => (
          <option key={model}>{model}</option>
        ))}
      </SelectField>
    </div>
  );
}

function Extras({ draft, patch, problem }: PartProps & { problem: (field: string) => string | undefined }) {
  return (
    // Unfolded when the browser refuses a field in it: otherwise it could not say which.
    <details className="more" onInvalidCapture={({ currentTarget }) => void (currentTarget.open = true)}>
      <summary>Enhancements, bitrate and webhook</summary>
      <div className="stack">
        <EnhancementFields draft={draft} patch={patch} />
        <CheckField
          label="Poster and thumbnails"
          hint="JPEG files of the result: a poster and five thumbnails. Not in test mode."
          checked={draft.pictures}
          onChange={(event) => patch({ pictures: event.target.checked })}
        />
        <TextField
          label="Largest bitrate in Mbit/s (optional)"
          type="number"
          min="0.5"
          max="200"
          step="any"
          placeholder="12"
          value={draft.maxBitrate}
          problem={problem('output/max_bitrate')}
          hint="From 0.5 to 200. Pictures that need more lose quality."
          onChange={(event) => patch({ maxBitrate: event.target.value })}
        />
        <TextField
          label="Webhook URL (optional)"
          type="url"
          placeholder="https://hooks.example.com/reelmend"
          value={draft.webhook}
          problem={problem('webhook_url')}
          hint="Receives a signed event when the job ends."
          onChange={(event) => patch({ webhook: event.target.value })}
        />
      </div>
    </details>
  );
}
