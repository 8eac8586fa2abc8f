/** Sends files from this computer, one or several, or those of a folder, by choosing or dropping them. */
import { FileVideo, FolderOpen } from 'lucide-react';
import { type DragEvent, useEffect, useRef, useState } from 'react';
import type { Mode } from '../../contract/types.gen.ts';
import { sentenceOf } from '../api/client.ts';
import { deleteUpload, sendFile } from '../api/uploads.ts';
import { formatBytes, formatPercent, plural } from '../app/format.ts';
import { Button } from '../ui/button.tsx';
import { Notice, ProgressBar } from '../ui/feedback.tsx';
import { toast } from '../ui/toasts.tsx';
import { type ChosenFiles, droppedFiles, filesOfFolder } from './chosen-files.ts';

interface Sent {
  /** of the row in the list */
  key: number;
  file: File;
  /** 0…1 */
  part: number;
  /** of the upload, once it is ready */
  id: string | null;
  error: unknown;
  abort: AbortController;
}

interface FilePickerProps {
  mode: Mode;
  /** called with the ids of the uploads that are ready; null while a file is being sent */
  onUploads: (ids: readonly string[] | null) => void;
}

export function FilePicker({ mode, onUploads }: FilePickerProps) {
  const [files, setFiles] = useState<readonly Sent[]>([]);
  const [skipped, setSkipped] = useState<number | null>(null);
  const nextKey = useRef(0);
  const current = useRef(files);
  current.current = files;
  useEffect(() => () => current.current.forEach(({ abort }) => abort.abort()), []);

  const set = (change: (old: readonly Sent[]) => readonly Sent[]) => {
    const next = change(current.current);
    current.current = next;
    setFiles(next);
    const isSending = next.some(({ id, error }) => id === null && error === null);
    onUploads(isSending ? null : next.flatMap(({ id }) => id ?? []));
  };
  const patch = (key: number, part: Partial<Sent>) => set((old) => old.map((each) => (each.key === key ? { ...each, ...part } : each)));
  const send = async ({ key, file, abort }: Sent) => {
    try {
      const id = await sendFile({ file, mode, onProgress: (part) => patch(key, { part }), signal: abort.signal });
      patch(key, { id, part: 1 });
    } catch (error) {
      if (!abort.signal.aborted) patch(key, { error });
    }
  };
  const add = async ({ files: chosen, skipped: others }: ChosenFiles) => {
    // `0 files` is said where a folder had nothing at all.
    setSkipped(others > 0 || chosen.length === 0 ? others : null);
    const added = chosen.map((file): Sent => ({ key: nextKey.current++, file, part: 0, id: null, error: null, abort: new AbortController() }));
    if (added.length === 0) return;
    set((old) => [...old, ...added]);
    // One after the other: each is sent several parts at a time.
    for (const each of added) if (!each.abort.signal.aborted) await send(each);
  };
  const remove = ({ key, id, abort }: Sent) => {
    abort.abort();
    set((old) => old.filter((each) => each.key !== key));
    // It expires by itself if this fails.
    if (id !== null) void deleteUpload(id).catch(() => undefined);
  };

  return (
    <div className="stack-s">
      {files.map((each) => (
        <FileRow key={each.key} sent={each} onRemove={() => remove(each)} />
      ))}
      <DropArea isFirst={files.length === 0} onChosen={(chosen) => void add(chosen)} />
      <span className="small muted" role="status">
        {skipped !== null && (skipped === 0 ? 'There was no file.' : `${plural(skipped, 'file')} of the folder left out: no video.`)}
      </span>
    </div>
  );
}

function DropArea({ isFirst, onChosen }: { isFirst: boolean; onChosen: (chosen: ChosenFiles) => void }) {
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
        onDragLeave={() => setOver(false)}
        onDragOver={(event) => event.preventDefault()}
        onDrop={drop}
      >
        <FileVideo size={26} strokeWidth={1.5} aria-hidden="true" />
        <strong>{isFirst ? 'Choose videos, or drop files and folders here' : 'Add more videos'}</strong>
        <span className="small muted">Up to 10 minutes and 2 GB each. They stay in the storage of this service, for 24 hours.</span>
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

function FileRow({ sent, onRemove }: { sent: Sent; onRemove: () => void }) {
  const { file, part, id, error } = sent;
  const isSending = id === null && error === null;
  if (error !== null) {
    return (
      <Notice tone="bad" role="alert" title={file.name}>
        <span>{sentenceOf(error)}</span>
        <Button size="small" onClick={onRemove}>
          Remove
        </Button>
      </Notice>
    );
  }
  return (
    <div className="notice">
      <FileVideo size={17} aria-hidden="true" />
      <div className="body">
        <div className="row spread">
          <strong className="wrap-anywhere">{file.name}</strong>
          <Button size="small" onClick={onRemove} aria-label={`${isSending ? 'Cancel' : 'Remove'} ${file.name}`}>
            {isSending ? 'Cancel' : 'Remove'}
          </Button>
        </div>
        <span className="small muted num">
          {formatBytes(file.size)}
          {isSending && ` · ${part < 1 ? formatPercent(part) : 'being verified'}`}
        </span>
        {isSending && <ProgressBar value={part} label={`Upload of ${file.name}`} />}
      </div>
    </div>
  );
}
