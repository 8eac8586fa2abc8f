/** Sends files from this computer, one or several, or those of a folder, by choosing or dropping them. */
import { FileVideo, FolderOpen } from 'lucide-react';
import { type DragEvent, type RefObject, useEffect, useRef, useState } from 'react';
import type { Mode } from '../../contract/types.gen.ts';
import { isSessionEnd, sentenceOf } from '../api/client.ts';
import { endOfPage, useSession, useWaitsForSignIn } from '../api/session.ts';
import { deleteUpload, isKept, sendFile, UnusableFileError } from '../api/uploads.ts';
import { formatBytes, formatDuration, formatPercent, plural } from '../app/format.ts';
import { Button } from '../ui/button.tsx';
import { Notice, ProgressBar } from '../ui/feedback.tsx';
import { toast } from '../ui/toasts.tsx';
import { type ChosenFiles, droppedFiles, filesOfFolder } from './chosen-files.ts';

/** A file that the service has. */
export interface UploadedFile {
  /** of the upload */
  id: string;
  name: string;
}

interface Sent {
  /** of the row in the list */
  key: number;
  file: File;
  /** 0…1 */
  part: number;
  /** of the upload, once it has begun: after a failure it goes on there */
  uploadId: string | null;
  isReady: boolean;
  error: unknown;
  abort: AbortController;
}

const isSending = ({ isReady, error }: Sent) => !isReady && error === null;

/** Ends an upload, which counts towards the quota of the account until then. */
function discard({ uploadId, abort }: Sent): void {
  abort.abort();
  // It expires by itself if this fails.
  if (uploadId !== null) void deleteUpload(uploadId).catch(() => undefined);
}

/** Discards what no job or preview is made of: nobody can use it once its list is gone. Returns whether it is. */
function useDiscardOnLeave(files: RefObject<readonly Sent[]>): RefObject<boolean> {
  const waitsForSignIn = useRef(useWaitsForSignIn());
  const isGone = useRef(false);
  useEffect(() => {
    isGone.current = false;
    const leave = () => files.current.filter(({ uploadId }) => uploadId === null || !isKept(uploadId)).forEach(discard);
    const close = ({ persisted }: PageTransitionEvent) => {
      // The browser may show a page again that it keeps.
      if (!persisted) leave();
    };
    window.addEventListener('pagehide', close);
    return () => {
      window.removeEventListener('pagehide', close);
      const end = (discardAll: () => void) => {
        isGone.current = true;
        discardAll();
      };
      if (!waitsForSignIn.current()) return end(leave);
      // The list is shown again, and parts are sent without a session. If another user signs in, nothing is sent in their name.
      endOfPage().addEventListener('abort', () => end(() => files.current.forEach(({ abort }) => abort.abort())), { once: true });
    };
  }, [files]);
  return isGone;
}

interface FilePickerProps {
  mode: Mode;
  /** uploads that are no longer shown, because they have become jobs */
  submitted: ReadonlySet<string>;
  /** called with the uploads that are ready; null while a file is being sent */
  onUploads: (uploads: readonly UploadedFile[] | null) => void;
}

export function FilePicker({ mode, submitted, onUploads }: FilePickerProps) {
  const [files, setFiles] = useState<readonly Sent[]>([]);
  const { max_file_size_bytes: largest } = useSession().limits;
  const [skipped, setSkipped] = useState<number | null>(null);
  const nextKey = useRef(0);
  const current = useRef(files);
  current.current = files;
  const isGone = useDiscardOnLeave(current);

  const set = (change: (old: readonly Sent[]) => readonly Sent[]) => {
    const next = change(current.current);
    current.current = next;
    setFiles(next);
    const ready = next.flatMap(({ isReady, uploadId, file }) => (isReady && uploadId !== null ? [{ id: uploadId, name: file.name }] : []));
    onUploads(next.some(isSending) ? null : ready);
  };
  const patch = (key: number, part: Partial<Sent>) => set((old) => old.map((each) => (each.key === key ? { ...each, ...part } : each)));
  const send = async ({ key, file, uploadId, abort }: Sent) => {
    try {
      // The page no longer waits for a file that was removed, nor for those of a list that is gone.
      const onProgress = (part: number, id: string) => !abort.signal.aborted && patch(key, { part, uploadId: id });
      if (file.size > largest) throw new UnusableFileError(`The file has ${formatBytes(file.size)}. At most ${formatBytes(largest)} are accepted.`);
      await sendFile({ file, mode, uploadId, onProgress, signal: abort.signal });
      patch(key, { isReady: true, part: 1 });
    } catch (error) {
      if (!abort.signal.aborted) patch(key, { error });
    }
  };
  /** One after the other: each is sent several parts at a time. */
  const sendInTurn = async (waiting: readonly Sent[]) => {
    for (const each of waiting) if (!each.abort.signal.aborted) await send(each);
  };
  const sendAgain = (failed: Sent) => {
    patch(failed.key, { error: null });
    void send(failed);
  };
  const add = async ({ files: chosen, skipped: others }: ChosenFiles) => {
    // It takes a while to read a folder.
    if (isGone.current) return;
    // `0 files` is shown where a folder had nothing at all.
    setSkipped(others > 0 || chosen.length === 0 ? others : null);
    const added = chosen.map(newlyChosen);
    if (added.length === 0) return;
    set((old) => [...old, ...added]);
    await sendInTurn(added);
  };
  // A page that is shown again after its session had ended goes on by itself.
  useEffect(() => {
    const waiting = current.current.filter(({ error }) => isSessionEnd(error));
    for (const { key } of waiting) patch(key, { error: null });
    void sendInTurn(waiting);
  }, []);
  const newlyChosen = (file: File): Sent => ({ key: nextKey.current++, file, part: 0, uploadId: null, isReady: false, error: null, abort: new AbortController() });
  const remove = (sent: Sent) => {
    set((old) => old.filter((each) => each.key !== sent.key));
    discard(sent);
  };

  const shown = files.filter(({ uploadId }) => uploadId === null || !submitted.has(uploadId));
  return (
    <div className="stack-s">
      {shown.map((each) => (
        <FileRow key={each.key} sent={each} onRemove={() => remove(each)} onRetry={() => sendAgain(each)} />
      ))}
      <DropArea isFirst={shown.length === 0} onChosen={(chosen) => void add(chosen)} />
      <span className="small muted" role="status">
        {skipped !== null && (skipped === 0 ? 'There was no file.' : `${plural(skipped, 'file')} of the folder left out: no video.`)}
      </span>
    </div>
  );
}

function DropArea({ isFirst, onChosen }: { isFirst: boolean; onChosen: (chosen: ChosenFiles) => void }) {
  const { max_duration_seconds: longest, max_file_size_bytes: largest } = useSession().limits;
  const [over, setOver] = useState(false);
  const folder = useRef<HTMLInputElement>(null);
  const drop = (event: DragEvent) => {
    // The input would take files, but no folders.
    event.preventDefault();
    setOver(false);
    void droppedFiles(event.dataTransfer).then(onChosen, () => toast('The folder cannot be read.', 'bad'));
  };
  return (
    <>
      <div
        className={over ? 'drop over' : 'drop'}
        onDragEnter={() => setOver(true)}
        // It also tells that the pointer has gone on to a child of the area.
        onDragLeave={({ currentTarget, relatedTarget }) => setOver(relatedTarget instanceof Node && currentTarget.contains(relatedTarget))}
        onDragOver={(event) => event.preventDefault()}
        onDrop={drop}
      >
        <FileVideo size={26} strokeWidth={1.5} aria-hidden="true" />
        <strong>{isFirst ? 'Choose videos, or drop files and folders here' : 'Add more videos'}</strong>
        <span className="small muted">
          Up to {formatDuration(longest)} and {formatBytes(largest)} each. Those that you submit stay in the storage of this service for 24 hours, others until you leave this page.
        </span>
        <input
          type="file"
          multiple
          accept="video/*,.mkv,.mts,.ts,.avi"
          aria-label="Video files"
          onChange={(event) => {
            onChosen({ files: [...(event.target.files ?? [])], skipped: 0 });
            // The same file may be chosen again.
            event.target.value = '';
          }}
        />
      </div>
      <div>
        <Button size="small" onClick={() => folder.current?.click()}>
          <FolderOpen size={14} aria-hidden="true" />
          Choose a folder
        </Button>
        <input
          ref={folder}
          type="file"
          {...{ webkitdirectory: '' }}
          hidden
          onChange={(event) => {
            if (event.target.files !== null) onChosen(filesOfFolder(event.target.files));
            event.target.value = '';
          }}
        />
      </div>
    </>
  );
}

interface FileRowProps {
  sent: Sent;
  onRemove: () => void;
  onRetry: () => void;
}

function FileRow({ sent, onRemove, onRetry }: FileRowProps) {
  const { file, part, error } = sent;
  const sending = isSending(sent);
  if (error !== null) {
    return (
      <Notice tone="bad" role="alert" title={file.name}>
        <span>{sentenceOf(error)}</span>
        <span className="row">
          {!(error instanceof UnusableFileError) && (
            <Button size="small" onClick={onRetry} aria-label={`Try again to send ${file.name}`}>
              Try again
            </Button>
          )}
          <Button size="small" onClick={onRemove} aria-label={`Remove ${file.name}`}>
            Remove
          </Button>
        </span>
      </Notice>
    );
  }
  return (
    <div className="notice">
      <FileVideo size={17} aria-hidden="true" />
      <div className="body">
        <div className="row spread">
          <strong className="wrap-anywhere">{file.name}</strong>
          <Button size="small" onClick={onRemove} aria-label={`${sending ? 'Cancel' : 'Remove'} ${file.name}`}>
            {sending ? 'Cancel' : 'Remove'}
          </Button>
        </div>
        <span className="small muted num">
          {formatBytes(file.size)}
          {sending && ` · ${part < 1 ? formatPercent(part) : 'being verified'}`}
        </span>
        {sending && <ProgressBar value={part} label={`Upload of ${file.name}`} />}
      </div>
    </div>
  );
}
