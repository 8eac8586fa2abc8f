/** A preview: its stretches side by side and synchronised, and creating the job with one of its settings. */
import { Pause, Play, Sparkles } from 'lucide-react';
import { useId, useRef, useState } from 'react';
import type { Preview, PreviewSetting, PreviewStretch } from '../../contract/types.gen.ts';
import { isGone } from '../api/client.ts';
import { useDeletePreview, usePreview } from '../api/previews.ts';
import { useSession } from '../api/session.ts';
import { formatPosition, formatTarget, plural } from '../app/format.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { useAction } from '../ui/dialog.tsx';
import { ErrorNotice, Load, Notice, ProgressBar } from '../ui/feedback.tsx';
import { Panel } from '../ui/panel.tsx';
import { useClipsInStep } from '../viewer/in-step.ts';
import { haveLinksEnded, LostVideo, mayRenew, type TimeLimitedLinks } from '../viewer/lost-video.tsx';
import type { Body } from './quote.tsx';

/** What is to be previewed: the body of a job, and the length of its video once it is known. */
export interface Previewed {
  body: Body;
  durationS: number;
}

/** Creates the job with a setting of the preview. */
type OnMake = (body: Body, credits: number) => Promise<void>;

const stageNames = { denoise: 'denoise', sharpen: 'sharpen', face_restoration: 'faces', adaptive_contrast: 'contrast' } as const;

/** A setting in words: its differences from the defaults. */
export function describeSetting({ resolution, model, enhancements = {}, output = {} }: PreviewSetting): string {
  const stages = Object.entries(stageNames).flatMap(([stage, name]) => {
    const strength = enhancements[stage as keyof typeof stageNames];
    return strength === undefined || strength === 'auto' ? [] : [`${name} ${strength}`];
  });
  const quality = output.quality === undefined ? [] : [typeof output.quality === 'number' ? `CRF ${output.quality}` : `${output.quality} quality`];
  const bitrate = output.max_bitrate === undefined ? [] : [`at most ${output.max_bitrate / 1e6} Mbit/s`];
  const rest = [...(model === undefined ? [] : [`model ${model}`]), ...stages, ...quality, ...bitrate];
  return [formatTarget(resolution), ...(rest.length === 0 ? ['automatic'] : rest)].join(', ');
}

/** Credits for `seconds` with each setting. */
export function useCredits() {
  const { pricing } = useSession();
  return (settings: readonly PreviewSetting[], seconds: number, secure: boolean | undefined) => {
    const prices = pricing[secure === true ? 'secure' : 'standard'].per_second;
    return settings.reduce((sum, { resolution }) => sum + Math.round(prices[resolution] * 100) * seconds, 0);
  };
}

interface PreviewPanelProps {
  id: string;
  previewed: Previewed;
  onMake: OnMake;
  onDeleted: () => void;
}

export function PreviewPanel({ id, previewed, onMake, onDeleted }: PreviewPanelProps) {
  const query = usePreview(id);
  const deletePreview = useDeletePreview();
  const { run, busy, error } = useAction(() => deletePreview(id), onDeleted);
  const isDeleted = isGone(query.error);
  const actions = !isDeleted && (
    <Button size="small" tone="quiet" busy={busy} onClick={run}>
      Delete the preview
    </Button>
  );
  return (
    <Panel title="Preview" actions={actions}>
      <div className="stack" aria-live="polite">
        {error !== null && !isDeleted && <ErrorNotice error={error} />}
        {isDeleted ? <p>The preview was deleted.</p> : <Load query={query}>{({ preview }) => <PreviewBody {...{ preview, previewed, onMake }} links={linksOf(preview, query)} />}</Load>}
      </div>
    </Panel>
  );
}

function linksOf({ links_expire_in: seconds }: Preview, { dataUpdatedAt, refetch }: ReturnType<typeof usePreview>): TimeLimitedLinks {
  return {
    hasEnded: () => seconds !== null && haveLinksEnded(dataUpdatedAt, seconds),
    renew: () => refetch({ throwOnError: true }),
  };
}

interface PreviewBodyProps {
  preview: Preview;
  links: TimeLimitedLinks;
  previewed: Previewed;
  onMake: OnMake;
}

function PreviewBody({ preview, links, previewed, onMake }: PreviewBodyProps) {
  const { status, stretches, settings, error, progress } = preview;
  /** those whose links have ended, until others replace them */
  const [lost, setLost] = useState<Preview['stretches']>(null);
  const renewedAt = useRef(0);
  if (status === 'error') {
    return (
      <Notice tone="bad" role="alert" title={preview.sandbox ? 'The preview failed.' : 'The preview failed, and was refunded.'}>
        {error?.message}
      </Notice>
    );
  }
  if (stretches === null) return <ProgressBar value={progress} label="Progress of the preview" />;
  return (
    <>
      {lost === stretches && <LostVideo {...{ links, renewedAt }} />}
      {stretches.map((stretch) => (
        <Stretch key={stretch.start} {...{ stretch, settings }} onFailed={(video) => mayRenew(links, video) && setLost(stretches)} />
      ))}
      <div className="preview-clips">
        <p className="muted">A job with one of these settings is the whole video, with sound.</p>
        {settings.map((setting) => (
          <MakeButton key={JSON.stringify(setting)} setting={setting} previewed={previewed} onMake={onMake} />
        ))}
      </div>
    </>
  );
}

const reasons: Readonly<Record<PreviewStretch['reason'], string>> = {
  face: 'a face',
  hardest_to_encode: 'the hardest to encode',
  most_damaged: 'the most damaged',
  evenly_spaced: 'elsewhere in the video',
};

interface StretchProps {
  stretch: PreviewStretch;
  settings: PreviewSetting[];
  /** a clip cannot be loaded */
  onFailed: (video: HTMLVideoElement) => void;
}

function Stretch({ stretch, settings, onFailed }: StretchProps) {
  const { clip, playing, toggle } = useClipsInStep();
  const name = `${formatPosition(stretch.start)}: ${reasons[stretch.reason]}`;
  const columns = [{ title: 'Original', url: stretch.original.url }, ...stretch.results.map(({ url }, index) => ({ title: describeSetting(settings[index]!), url }))];
  return (
    <section className="stack-s" aria-label={name}>
      <div className="row">
        <h3>{name}</h3>
        <IconButton label={playing ? `Pause ${name}` : `Play ${name}`} size="small" onClick={toggle}>
          {playing ? <Pause size={14} aria-hidden="true" /> : <Play size={14} aria-hidden="true" />}
        </IconButton>
      </div>
      <div className="preview-clips">
        {columns.map(({ title, url }, index) => (
          // Not the link: a clip that gets a new one goes on at its place.
          <figure key={index}>
            {/* The clips have no sound. */}
            <video {...clip(index)} src={url} muted playsInline preload="auto" tabIndex={-1} aria-label={title} onError={({ currentTarget }) => onFailed(currentTarget)} />
            <figcaption className="small muted">{title}</figcaption>
          </figure>
        ))}
      </div>
    </section>
  );
}

function MakeButton({ setting, previewed, onMake }: { setting: PreviewSetting; previewed: Previewed; onMake: OnMake }) {
  const id = useId();
  const creditsOf = useCredits();
  const { mode, request } = previewed.body;
  const { model: _model, enhancements: _enhancements, output: _output, ...rest } = request;
  const credits = creditsOf([setting], Math.max(1, Math.ceil(previewed.durationS)), request.secure);
  const { run, busy, error } = useAction(() => onMake({ mode, request: { ...rest, ...setting } }, credits));
  return (
    <div className="stack-s">
      <Button tone="primary" busy={busy} onClick={run} aria-describedby={id}>
        <Sparkles size={14} aria-hidden="true" />
        Make the whole video with this{mode === 'live' && ` (${plural(credits, 'credit')})`}
      </Button>
      <span id={id} className="small muted">
        {describeSetting(setting)}
      </span>
      {error !== null && <ErrorNotice error={error} />}
    </div>
  );
}
