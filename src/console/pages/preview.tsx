/** Compares settings on a few seconds of the video before the whole video is made. */
import { Plus, X } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import type { Mode, PreviewInput, PreviewSetting } from '../../contract/types.gen.ts';
import { useCreatePreview } from '../api/previews.ts';
import { keepWhile } from '../api/uploads.ts';
import { plural } from '../app/format.ts';
import { sendOnce } from '../app/idempotency-keys.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { useAction } from '../ui/dialog.tsx';
import { ErrorNotice } from '../ui/feedback.tsx';
import { Panel } from '../ui/panel.tsx';
import { describeSetting, type Previewed, PreviewPanel, useCredits } from './preview-result.tsx';
import type { Body } from './quote.tsx';

const mostSettings = 3;

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

/** Billed seconds of one setting: up to three stretches of two seconds. */
function secondsPerSetting(durationS: number): number {
  const stretches = Math.min(3, Math.max(1, Math.floor(durationS / 2)));
  return Math.max(1, Math.ceil(stretches * Math.min(2, durationS)));
}

interface PreviewPartProps {
  /** null while there is no single measured video */
  previewed: Previewed | null;
  /** Creates the job with a setting of the preview. */
  onMake: (body: Body, credits: number) => Promise<void>;
}

/** The panel that makes previews, and below it the newest one. */
export function PreviewPart({ previewed, onMake }: PreviewPartProps): ReactNode {
  const [chosen, setChosen] = useState<PreviewSetting[]>([]);
  const [made, setMade] = useState<{ id: string; previewed: Previewed } | null>(null);
  const creditsOf = useCredits();
  const createPreview = useCreatePreview();
  const current = previewed === null ? null : settingOf(previewed.body.request);
  const settings = chosen.length > 0 || current === null ? chosen : [current];
  const credits = previewed === null ? 0 : creditsOf(settings, secondsPerSetting(previewed.durationS), previewed.body.request.secure);
  const { run, busy, error } = useAction(async () => {
    if (previewed === null) return;
    const body = previewBody(previewed.body, settings, credits);
    // The whole video can be made of the upload later.
    const create = () => sendOnce({ preview: body }, (key) => createPreview(body, key));
    const { upload_id: upload } = body.request;
    const { id } = await keepWhile(upload === undefined ? [] : [upload], () => [], create);
    setMade({ id, previewed });
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
      {made !== null && <PreviewPanel key={made.id} {...made} onMake={onMake} onDeleted={() => setMade(null)} />}
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
