/** Uploads a file from this computer (local demos). */
import { FileVideo } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { uploadFile } from '../api/jobs.ts';
import { formatBytes, formatPercent } from '../app/format.ts';
import { Button } from '../ui/button.tsx';
import { ErrorNotice, ProgressBar } from '../ui/feedback.tsx';

type State =
  | { step: 'none' }
  | { step: 'sending'; file: File; part: number }
  | { step: 'sent'; file: File }
  | { step: 'failed'; error: unknown };

/** Calls `onUploaded` with the URL of the uploaded file, or with an empty string when the file is removed. */
export function FilePicker({ onUploaded }: { onUploaded: (url: string) => void }) {
  const [state, setState] = useState<State>({ step: 'none' });
  const [over, setOver] = useState(false);
  const sending = useRef<AbortController | null>(null);
  useEffect(() => () => sending.current?.abort(), []);

  const choose = async (file: File | undefined) => {
    if (file === undefined) return;
    sending.current?.abort();
    const controller = new AbortController();
    sending.current = controller;
    onUploaded('');
    setState({ step: 'sending', file, part: 0 });
    try {
      const { video_url } = await uploadFile(file, (part) => setState({ step: 'sending', file, part }), controller.signal);
      setState({ step: 'sent', file });
      onUploaded(video_url);
    } catch (error) {
      if (!controller.signal.aborted) setState({ step: 'failed', error });
    }
  };
  const clear = () => {
    sending.current?.abort();
    setState({ step: 'none' });
    onUploaded('');
  };

  if (state.step === 'sending' || state.step === 'sent') return <Chosen state={state} onClear={clear} />;
  return (
    <div className="stack-s">
      <div className={over ? 'drop over' : 'drop'} onDragEnter={() => setOver(true)} onDragLeave={() => setOver(false)} onDrop={() => setOver(false)}>
        <FileVideo size={26} strokeWidth={1.5} aria-hidden="true" />
        <strong>Choose a video, or drop one here</strong>
        <span className="small muted">It stays on the machine of this service.</span>
        <input type="file" accept="video/*,.mkv,.mts,.ts,.avi" aria-label="Video file" onChange={(event) => void choose(event.target.files?.[0])} />
      </div>
      {state.step === 'failed' && <ErrorNotice error={state.error} />}
    </div>
  );
}

function Chosen({ state, onClear }: { state: Extract<State, { file: File }>; onClear: () => void }) {
  return (
    <div className="notice">
      <FileVideo size={17} aria-hidden="true" />
      <div className="body">
        <div className="row spread">
          <strong className="wrap-anywhere">{state.file.name}</strong>
          <Button size="small" onClick={onClear}>
            {state.step === 'sending' ? 'Cancel' : 'Another file'}
          </Button>
        </div>
        <span className="small muted num">
          {formatBytes(state.file.size)}
          {state.step === 'sending' && ` · ${formatPercent(state.part)}`}
        </span>
        {state.step === 'sending' && <ProgressBar value={state.part} label="Upload" />}
      </div>
    </div>
  );
}
