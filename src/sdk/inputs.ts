/** What calls that create something take. */
import type { CallOptions } from './call.ts';
import type { JobInput as AnyJobInput, PreviewInput as AnyPreviewInput } from './types.gen.ts';

/** A job or a quote to create: a video, as a URL or an upload, and how to enhance it. */
export type JobInput = Omit<AnyJobInput, 'video_url' | 'upload_id'> & VideoInput;

/** A preview to create: a video, and one to three settings. */
export type PreviewInput = Omit<AnyPreviewInput, 'video_url' | 'upload_id'> & VideoInput;

type VideoInput = { video_url: string; upload_id?: never } | { upload_id: string; video_url?: never };

export interface CreateOptions extends CallOptions {
  /** Your own key for this job, preview or upload, so that a restart of your process cannot create it twice. Otherwise one is generated. */
  idempotencyKey?: string | undefined;
}
