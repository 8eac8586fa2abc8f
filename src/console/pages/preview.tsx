/** Compares settings on a few seconds of the video before the whole video is made. */
import { Pause, Play, Plus, Sparkles, X } from 'lucide-react';
import { type ReactNode, useId, useRef, useState } from 'react';
import type { Mode, Preview, PreviewInput, PreviewSetting, PreviewStretch } from '../../contract/types.gen.ts';
import { createPreview, deletePreview, usePreview } from '../api/previews.ts';
import { useSession } from '../api/session.ts';
import { formatPosition, plural } from '../app/format.ts';
import { newIdempotencyKey } from '../app/random.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { useAction } from '../ui/dialog.tsx';
import { ErrorNotice, Load, Notice, ProgressBar } from '../ui/feedback.tsx';
import { Panel } from '../ui/panel.tsx';
import { useClipsInStep } from '../viewer/in-step.ts';
import type { Body } from './quote.tsx';

const mostSettings = 3;

/** What is to be previewed: the body of a job, and the length of its video once it is known. */
export interface Previewed {
  body: Body;
  durationS: number;
}

/** The part of a job's body that a preview compares. */
function settingOf({ resolution, model, enhancements, output }: Body['request']): PreviewSetting {
  return {
    resolution,
    ...(model === undefined ? {} : { model }),
    ...(enhancements === undefined ? {} : { enhancements }),
    ...(output === undefined ? {} : { output }),
  };
}

const same = (a: PreviewSetting, b: PreviewSetting) => JSON.stringify(a) === JSON.stringify(b);

const stageNames = { denoise: 'denoise', sharpen: 'sharpen', face_restoration: 'faces', adaptive_contrast: 'contrast' } as const;

/** A setting in words: what differs from the defaults. */
export function describeSetting({ resolution, model, enhancements = {}, output = {} }: PreviewSetting): string {
  const stages = Object.entries(stageNames).flatMap(([stage, name]) => {
    const strength = enhancements[stage as keyof typeof stageNames];
    return strength === undefined || strength === 'auto' ? [] : [`${name} ${strength}`];
  });
  const quality = output.quality === undefined ? [] : [typeof output.quality === 'number' ? `CRF ${output.quality}` : `${output.quality} quality`];
  const bitrate = output.max_bitrate === undefined ? [] : [`at most ${output.max_bitrate / 1e6} Mbit/s`];
  const rest = [...(model === undefined ? [] : [`model ${model}`]), ...stages, ...quality, ...bitrate];
  return [resolution, ...(rest.length === 0 ? ['automatic'] : rest)].join(', ');
}

/** Billed seconds of one setting: up to three stretches of two seconds. */
function secondsPerSetting(durationS: number): number {
  const stretches = Math.min(3, Math.max(1, Math.floor(durationS / 2)));
  return Math.max(1, Math.ceil(stretches * Math.min(2, durationS)));
}

/** Credits for `seconds` of each setting. */
function useCredits() {
  const { pricing } = useSession();
  return (settings: readonly PreviewSetting[], seconds: number, secure: boolean | undefined) => {
    const prices = pricing[secure === true ? 'secure' : 'standard'].per_second;
    return settings.reduce((sum, { resolution }) => sum + Math.round(prices[resolution] * 100) * seconds, 0);
  };
}

interface PreviewPartProps {
  /** null while there is no single measured video */
  previewed: Previewed | null;
  /** Creates the job with a setting of the preview. */
  onMake: (body: Body, credits: number) => Promise<void>;
}

interface Made {
  id: string;
  previewed: Previewed;
}

/** The panel that makes previews, and below it the newest one. */
export function PreviewPart({ previewed, onMake }: PreviewPartProps): ReactNode {
  const [chosen, setChosen] = useState<PreviewSetting[]>([]);
  const [made, setMade] = useState<Made | null>(null);
  const keys = useRef(new Map<string, string>());
  const creditsOf = useCredits();
  const current = previewed === null ? null : settingOf(previewed.body.request);
  const settings = chosen.length > 0 || current === null ? chosen : [current];
  const credits = previewed === null ? 0 : creditsOf(settings, secondsPerSetting(previewed.durationS), previewed.body.request.secure);
  const { run, busy, error } = useAction(async () => {
    if (previewed === null) return;
    const body = previewBody(previewed.body, settings, credits);
    const text = JSON.stringify(body);
    const key = keys.current.get(text) ?? newIdempotencyKey();
    keys.current.set(text, key);
    setMade({ id: (await createPreview(body, key)).id, previewed });
  });
  const canAdd = current !== null && chosen.length < mostSettings && !chosen.some((each) => same(each, current));
  return (
    <>
      <Panel title="Compare settings first">
        <div className="stack">
          <p className="muted">
            Makes up to three stretches of two seconds with up to three settings: a face, hard to encode, damaged. Choose settings above, add them,
            choose others, add those.
          </p>
          {chosen.length > 0 && (
            <ul className="stack-s">
              {chosen.map((setting) => (
                <li key={JSON.stringify(setting)} className="row">
                  <span>{describeSetting(setting)}</span>
                  <IconButton label={`Remove ${describeSetting(setting)}`} size="small" tone="quiet" onClick={() => setChosen(chosen.filter((each) => each !== setting))}>
                    <X size={14} aria-hidden="true" />
                  </IconButton>
                </li>
              ))}
            </ul>
          )}
          <div className="row">
            <Button size="small" disabled={!canAdd} onClick={() => current !== null && setChosen([...chosen, current])}>
              <Plus size={14} aria-hidden="true" />
              Add these settings
            </Button>
            <Button size="small" busy={busy} disabled={previewed === null} onClick={run}>
              Make a preview{previewed?.body.mode === 'live' && ` (${plural(credits, 'credit')})`}
            </Button>
          </div>
          {error !== null && <ErrorNotice error={error} />}
        </div>
      </Panel>
      {made !== null && <PreviewPanel key={made.id} made={made} onMake={onMake} onDeleted={() => setMade(null)} />}
    </>
  );
}

function previewBody({ mode, request }: Body, settings: PreviewSetting[], credits: number): { mode: Mode; request: PreviewInput } {
  const { video_url, upload_id, secure } = request;
  return {
    mode,
    request: {
      ...(video_url === undefined ? {} : { video_url }),
      ...(upload_id === undefined ? {} : { upload_id }),
      ...(secure === undefined ? {} : { secure }),
      settings,
      // Never more than was shown.
      ...(mode === 'live' ? { max_credits: credits } : {}),
    },
  };
}

function PreviewPanel({ made, onMake, onDeleted }: { made: Made; onMake: PreviewPartProps['onMake']; onDeleted: () => void }) {
  const query = usePreview(made.id);
  const { run, busy, error } = useAction(() => deletePreview(made.id), onDeleted);
  const actions = (
    <Button size="small" tone="quiet" busy={busy} onClick={run}>
      Delete the preview
    </Button>
  );
  return (
    <Panel title="Preview" actions={actions}>
      <div className="stack" aria-live="polite">
        {error !== null && <ErrorNotice error={error} />}
        <Load query={query}>{(preview) => <PreviewBody preview={preview} previewed={made.previewed} onMake={onMake} />}</Load>
      </div>
    </Panel>
  );
}

function PreviewBody({ preview, previewed, onMake }: { preview: Preview; previewed: Previewed; onMake: PreviewPartProps['onMake'] }) {
  const { status, stretches, settings, error, progress } = preview;
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
      {stretches.map((stretch) => (
        <Stretch key={stretch.start} stretch={stretch} settings={settings} />
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

function Stretch({ stretch, settings }: { stretch: PreviewStretch; settings: PreviewSetting[] }) {
  const { clips, playing, toggle } = useClipsInStep();
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
          <figure key={url}>
            {/* The clips have no sound. */}
            <video ref={clips(index)} src={url} muted playsInline preload="auto" aria-label={title} />
            <figcaption className="small muted">{title}</figcaption>
          </figure>
        ))}
      </div>
    </section>
  );
}

function MakeButton({ setting, previewed, onMake }: { setting: PreviewSetting; previewed: Previewed; onMake: PreviewPartProps['onMake'] }) {
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
