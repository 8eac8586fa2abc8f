/** Sends files from this computer, one or several, or those of a folder, by choosing or dropping them. */
import { FileVideo, FolderOpen } from 'lucide-react';
import { type DragEvent, useEffect, useRef, useState } from 'react';
import type { Mode } from '../../contract/types.gen.ts';
import { sentenceOf } from '../api/client.ts';
import { endOfPage, useSession, useWaitsForSignIn } from '../api/session.ts';
import { UnusableFileError } from '../api/uploads.ts';
import { formatBytes, formatDuration, formatPercent, plural } from '../app/format.ts';
import { Button } from '../ui/button.tsx';
import { Notice, ProgressBar } from '../ui/feedback.tsx';
import { toast } from '../ui/toasts.tsx';
import { type ChosenFiles, droppedFiles, filesOfFolder } from './chosen-files.ts';
import { isSending, type QueuedFile, type UploadedFile, UploadQueue, uploadsOf } from './upload-queue.ts';

/** Opens the queue while its list is shown, and closes it when the list is left for good. */
function useOpenQueue(queue: UploadQueue): void {
  const waitsForSignIn = useRef(useWaitsForSignIn());
  useEffect(() => {
    queue.open();
    const close = ({ persisted }: PageTransitionEvent) => {
      // The browser may show a page again that it keeps.
      if (!persisted) queue.discardUnused();
    };
    window.addEventListener('pagehide', close);
    return () => {
      window.removeEventListener('pagehide', close);
      if (!waitsForSignIn.current()) return queue.close();
      // The list is shown again, and parts are sent without a session. If another user signs in, nothing is sent in their name.
      endOfPage().addEventListener('abort', () => queue.abandon(), { once: true });
    };
  }, [queue]);
}

interface FilePickerProps {
  mode: Mode;
  /** uploads that are no longer shown, because they have become jobs */
  submitted: ReadonlySet<string>;
  /** called with the uploads that are ready; null while a file is being sent */
  onUploads: (uploads: readonly UploadedFile[] | null) => void;
}

export function FilePicker({ mode, submitted, onUploads }: FilePickerProps) {
  const [files, setFiles] = useState<readonly QueuedFile[]>([]);
  const [skipped, setSkipped] = useState<number | null>(null);
  const [queue] = useState(() => new UploadQueue(mode));
  queue.maxBytes = useSession().limits.max_file_size_bytes;
  queue.onChange = (next) => {
    setFiles(next);
    onUploads(uploadsOf(next));
  };
  useOpenQueue(queue);

  const add = ({ files: chosen, skipped: others }: ChosenFiles) => {
    // It takes a while to read a folder.
    if (queue.isClosed) return;
    // `0 files` is shown where a folder had nothing at all.
    setSkipped(others > 0 || chosen.length === 0 ? others : null);
    queue.add(chosen);
  };
  const shown = files.filter(({ uploadId }) => uploadId === null || !submitted.has(uploadId));
  return (
    <div className="stack-s">
      {shown.map((each) => (
        <FileRow key={each.key} queued={each} onRemove={() => queue.remove(each)} onRetry={() => queue.retry(each)} />
      ))}
      <DropArea isFirst={shown.length === 0} onChosen={add} />
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
  queued: QueuedFile;
  onRemove: () => void;
  onRetry: () => void;
}

function FileRow({ queued, onRemove, onRetry }: FileRowProps) {
  const { file, part, error } = queued;
  const sending = isSending(queued);
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
