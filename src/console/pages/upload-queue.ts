/** The files that somebody has chosen: sends them one after the other, and ends the uploads that nobody uses. */
import type { Mode } from '../../contract/types.gen.ts';
import { isSessionEnd } from '../api/client.ts';
import { deleteUpload, isKept, sendFile, UnusableFileError } from '../api/uploads.ts';
import { formatBytes } from '../app/format.ts';

/** A file that the service has. */
export interface UploadedFile {
  /** of the upload */
  id: string;
  name: string;
}

export interface QueuedFile {
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

export const isSending = ({ isReady, error }: QueuedFile) => !isReady && error === null;

/** The uploads that are ready; null while a file is being sent. */
export function uploadsOf(files: readonly QueuedFile[]): UploadedFile[] | null {
  if (files.some(isSending)) return null;
  return files.flatMap(({ isReady, uploadId, file }) => (isReady && uploadId !== null ? [{ id: uploadId, name: file.name }] : []));
}

/** Ends an upload, which counts towards the quota of the account until then. */
function discard({ uploadId, abort }: QueuedFile): void {
  abort.abort();
  // It expires by itself if this fails.
  if (uploadId !== null) void deleteUpload(uploadId).catch(() => undefined);
}

export class UploadQueue {
  /** called with all files after each change */
  onChange: (files: readonly QueuedFile[]) => void = () => {};
  /** bytes of the largest file that is accepted */
  maxBytes = Infinity;
  readonly #mode: Mode;
  #files: readonly QueuedFile[] = [];
  #nextKey = 0;
  #isClosed = false;

  constructor(mode: Mode) {
    this.#mode = mode;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  add(files: readonly File[]): void {
    const added = files.map((file) => ({ key: this.#nextKey++, file, part: 0, uploadId: null, isReady: false, error: null, abort: new AbortController() }));
    if (added.length === 0) return;
    this.#set([...this.#files, ...added]);
    void this.#sendInTurn(added);
  }

  remove(removed: QueuedFile): void {
    this.#set(this.#files.filter(({ key }) => key !== removed.key));
    discard(removed);
  }

  retry(failed: QueuedFile): void {
    this.#patch(failed.key, { error: null });
    void this.#send(failed);
  }

  /** Opens the queue. It goes on by itself after its session had ended. */
  open(): void {
    this.#isClosed = false;
    const waiting = this.#files.filter(({ error }) => isSessionEnd(error));
    for (const { key } of waiting) this.#patch(key, { error: null });
    void this.#sendInTurn(waiting);
  }

  /** Discards what no job or preview is made of: nobody can use it once its list is gone. */
  discardUnused(): void {
    this.#files.filter(({ uploadId }) => uploadId === null || !isKept(uploadId)).forEach(discard);
  }

  /** Its list is gone. */
  close(): void {
    this.#isClosed = true;
    this.discardUnused();
  }

  /** Its list is gone and its session has ended: nothing more is sent, and nothing is deleted in another user's name. */
  abandon(): void {
    this.#isClosed = true;
    for (const { abort } of this.#files) abort.abort();
  }

  /** One after the other: each is sent several parts at a time. */
  async #sendInTurn(waiting: readonly QueuedFile[]): Promise<void> {
    for (const each of waiting) if (!each.abort.signal.aborted) await this.#send(each);
  }

  async #send({ key, file, uploadId, abort }: QueuedFile): Promise<void> {
    // The list no longer waits for a file that was removed, nor for any once it is gone.
    const onProgress = (part: number, id: string) => !abort.signal.aborted && this.#patch(key, { part, uploadId: id });
    try {
      if (file.size > this.maxBytes) throw new UnusableFileError(`The file has ${formatBytes(file.size)}. At most ${formatBytes(this.maxBytes)} are accepted.`);
      await sendFile({ file, mode: this.#mode, uploadId, onProgress, signal: abort.signal });
      this.#patch(key, { isReady: true, part: 1 });
    } catch (error) {
      if (!abort.signal.aborted) this.#patch(key, { error });
    }
  }

  #patch(key: number, part: Partial<QueuedFile>): void {
    this.#set(this.#files.map((each) => (each.key === key ? { ...each, ...part } : each)));
  }

  #set(files: readonly QueuedFile[]): void {
    this.#files = files;
    this.onChange(files);
  }
}
