/** Sends files in parts, as a customer's web page does, with the console's own calls. */
import type {
  ConsoleCompleteUploadData,
  ConsoleCompleteUploadResponse,
  ConsoleCreateUploadData,
  ConsoleCreateUploadResponse,
  ConsoleDeleteUploadData,
  ConsoleDeleteUploadResponse,
  ConsoleGetUploadData,
  ConsoleGetUploadResponse,
  Mode,
  Upload,
} from '../../contract/types.gen.ts';
import { sendUpload } from '../../sdk/uploads.ts';
import { call } from './client.ts';

/** The page may have been opened under another host name than the one in the URLs of the parts. */
function onThisHost(upload: Upload): Upload {
  const parts = upload.parts.map((part) => {
    const { pathname, search } = new URL(part.url);
    return pathname.startsWith('/v1/upload-parts/') ? { ...part, url: `${location.origin}${pathname}${search}` } : part;
  });
  return { ...upload, parts };
}

const get = async (id: string): Promise<Upload> =>
  onThisHost(await call<ConsoleGetUploadData, ConsoleGetUploadResponse>('GET', '/console/api/uploads/{id}', { path: { id } }));

const complete = (id: string, body: ConsoleCompleteUploadData['body']): Promise<Upload> =>
  call<ConsoleCompleteUploadData, ConsoleCompleteUploadResponse>('POST', '/console/api/uploads/{id}/complete', { path: { id }, body });

export interface FileToSend {
  file: File;
  mode: Mode;
  /** 0…1 */
  onProgress: (part: number) => void;
  signal: AbortSignal;
}

/** Sends a file and resolves with the id of its upload, which is ready for jobs. */
export async function sendFile({ file, mode, onProgress, signal }: FileToSend): Promise<string> {
  const body = { mode, request: { file_name: file.name, size_bytes: file.size } };
  const upload = await call<ConsoleCreateUploadData, ConsoleCreateUploadResponse>('POST', '/console/api/uploads', { body }, { signal });
  const progress = ({ sentBytes, totalBytes }: { sentBytes: number; totalBytes: number }) => onProgress(sentBytes / totalBytes);
  const { id } = await sendUpload({ upload: onThisHost(upload), file, get, complete, onProgress: progress, signal });
  return id;
}

export function deleteUpload(id: string): Promise<ConsoleDeleteUploadResponse> {
  return call<ConsoleDeleteUploadData, ConsoleDeleteUploadResponse>('DELETE', '/console/api/uploads/{id}', { path: { id } });
}
