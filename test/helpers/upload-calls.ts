/** Uploads over the API, for tests: creates, sends in parts, completes and verifies them. */
import { createHash, randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import type { Upload } from '../../src/contract/types.gen.ts';
import { type Api, publicUrl, type RequestOptions } from './http.ts';

export const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
export const post = { method: 'POST' } as const;
export const file = randomBytes(1000);
export const input = { file_name: 'Ferien am Meer.mov', size_bytes: file.length };

export const create = (api: Api, json: object = input, options: RequestOptions = {}) => api.request('/v1/uploads', { ...post, json, ...options });
export const created = async (api: Api, json: object = input, options: RequestOptions = {}): Promise<Upload> => {
  const response = await create(api, json, options);
  expect(response.status).toBe(201);
  return (await response.json()) as Upload;
};
export const get = async (api: Api, id: string, options: RequestOptions = {}) =>
  (await (await api.request(`/v1/uploads/${id}`, options)).json()) as Upload;
export const complete = (api: Api, id: string, json: object = {}, options: RequestOptions = {}) =>
  api.request(`/v1/uploads/${id}/complete`, { ...post, json, ...options });
/** Sends the bytes of a listed part, without a key. */
export const send = (api: Api, part: Upload['parts'][number], bytes: Uint8Array | ReadableStream<Uint8Array>, headers = {}) =>
  api.request(part.url.slice(publicUrl.length), { method: 'PUT', key: null, body: bytes, headers });
export const sliceOf = (bytes: Uint8Array, { offset, size_bytes }: Upload['parts'][number]) => bytes.subarray(offset, offset + size_bytes);

/** An upload that a worker has verified. */
export async function ready(api: Api, options: RequestOptions = {}, json: object = input): Promise<Upload> {
  const upload = await created(api, json, options);
  for (const part of upload.parts) expect((await send(api, part, sliceOf(file, part))).status).toBe(200);
  expect((await complete(api, upload.id, { sha256: sha256(file) }, options)).status).toBe(200);
  await api.store.verifyUpload(upload.id, { sha256: sha256(file) });
  return get(api, upload.id, options);
}
