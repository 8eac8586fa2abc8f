/** Links from error codes to their explanations in the documents; test/docs/site.test.ts checks that each exists. */
import { type JobErrorCode, requestErrorCodes, type RequestErrorCode } from '../domain/errors.ts';
import type { UploadErrorCode } from '../domain/uploads.ts';

const ofRequests: ReadonlySet<string> = new Set(requestErrorCodes);

export const docUrl = (publicUrl: string, code: RequestErrorCode | UploadErrorCode): string => `${publicUrl}/docs/errors#${code}`;

/** For a failed job or preview. A code that a refused request may have, too, is explained twice: the causes differ. */
export const jobDocUrl = (publicUrl: string, code: JobErrorCode): string =>
  `${publicUrl}/docs/errors#${ofRequests.has(code) ? 'failed-' : ''}${code}`;
