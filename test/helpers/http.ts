/** The API over the real store, with a storage in memory and a measurement that the test sets. */
import { Readable } from 'node:stream';
import type { JobRecord, SourceFacts } from '../../src/domain/job.ts';
import type { ModelDescription } from '../../src/domain/models.ts';
import { signHead } from '../../src/evidence/audit-log.ts';
import { generateSigningKey } from '../../src/evidence/signing-keys.ts';
import { buildApp } from '../../src/http/app.ts';
import type { HttpDeps, HttpOptions } from '../../src/http/deps.ts';
import { createRequestLog } from '../../src/http/request-log-writer.ts';
import { createUrlPolicy } from '../../src/net/policy.ts';
import type { FilesystemStorage } from '../../src/storage/filesystem.ts';
import { makeLink, makePartLink, verifyLink, verifyPartLink } from '../../src/storage/links.ts';
import type { Account } from '../../src/store/types.ts';
import { checkResponse, descriptionText } from './http-contract.ts';
import { ApiStore, pepper, testAccount } from './http-store.ts';
import { MemoryMultipart } from './memory-multipart.ts';

export { pepper } from './http-store.ts';
export const linkSecret = 'a link secret for tests';
export const publicUrl = 'http://reelmend.test';

export const source: SourceFacts = {
  container: 'mov,mp4,m4a,3gp,3g2,mj2',
  video_codec: 'h264',
  audio_codec: 'aac',
  width: 960,
  height: 540,
  frame_rate: 29.97,
  duration: 41.375,
  size_bytes: 5_242_880,
};

/** The fields of a finished job that differ from those of a queued one. */
export function finished(): Partial<JobRecord> {
  return {
    status: 'done',
    progress: 1,
    etaSeconds: 0,
    source,
    output: { width: 1920, height: 1080, size_bytes: 10, sha256: '0'.repeat(64) },
    applied: { denoise: 0.2, sharpen: 0.4, face_restoration: 0, adaptive_contrast: 0.3, model: 'none', device: 'cpu', plan: [] },
    startedAt: new Date(),
    finishedAt: new Date(),
  };
}

/** Objects in memory, with the real signed links. */
export function fakeStorage(objects: Map<string, Buffer>): FilesystemStorage & { opened: number } {
  const unused = async () => {
    throw new Error('the API does not use this');
  };
  const multipart = new MemoryMultipart(objects);
  return {
    kind: 'filesystem',
    opened: 0,
    putFile: unused,
    getFile: unused,
    destroy: unused,
    isAbsent: unused,
    list: () => {
      throw new Error('the API does not use this');
    },
    stat: async (key) => {
      const object = objects.get(key);
      return object === undefined ? null : { size: object.length };
    },
    async open(key, range) {
      this.opened += 1;
      const object = objects.get(key);
      if (object === undefined) return null;
      return Readable.from([range === undefined ? object : object.subarray(range.start, range.end + 1)]);
    },
    link: async (key, { fileName, contentType, expiresInS }) => {
      const expires = Math.ceil(Date.now() / 1000) + expiresInS;
      return { url: makeLink(publicUrl, linkSecret, { key, expires, fileName, contentType }), expiresInS };
    },
    verifyLink: (query) => verifyLink(linkSecret, query, Date.now()),
    createMultipart: async (key) => multipart.create(key),
    linkPart: async ({ key, id: upload }, { number, size, expiresInS }) => {
      const expires = Math.ceil(Date.now() / 1000) + expiresInS;
      return { url: makePartLink(publicUrl, linkSecret, { key, upload, number, size, expires }), expiresInS };
    },
    verifyPartLink: (query) => verifyPartLink(linkSecret, query, Date.now()),
    writePart: (upload, part, body) => multipart.write(upload, part, body),
    listParts: async (upload) => multipart.list(upload),
    completeMultipart: async (upload, whole) => multipart.complete(upload, whole),
  };
}

/** An installed network whose manifest has only the required fields. */
export const installed = (name: string): ModelDescription => ({ name, title: '', description: null, scales: [2], relativeCost: null, license: null });

export interface ApiOptions {
  measure?: HttpDeps['measure'];
  options?: HttpOptions;
  account?: Partial<Account>;
  metrics?: HttpDeps['metrics'];
  freeBytes?: () => Promise<number>;
  docsDir?: string;
}

export interface RequestOptions {
  method?: string;
  key?: string | null;
  headers?: Record<string, string>;
  /** sent as JSON */
  json?: unknown;
  /** sent unchanged */
  body?: string | Uint8Array | ReadableStream<Uint8Array>;
}

/** The API with one approved account and a key of each kind; `request` checks every response against the contract. */
export function makeApi({ measure, options, account: overrides, metrics, freeBytes, docsDir }: ApiOptions = {}) {
  const objects = new Map<string, Buffer>();
  const storage = fakeStorage(objects);
  const account = testAccount(overrides);
  const store = new ApiStore(account);
  const keys = {
    live: store.addKey('live', 'standard'),
    liveSecure: store.addKey('live', 'secure'),
    test: store.addKey('test', 'standard'),
    testSecure: store.addKey('test', 'secure'),
  };
  const signer = generateSigningKey();
  const logged: { level: string; facts: object; message: string }[] = [];
  const log = (level: string) => (facts: object, message: string) => void logged.push({ level, facts, message });
  const logger = { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') };
  const measured: string[] = [];
  const policy = createUrlPolicy({ allowHosts: [] });
  // The interval never elapses; tests call `flush`.
  const requestLog = createRequestLog({ store: store.requestLog, logger, intervalMs: 2 ** 30 });
  const app = buildApp({
    store,
    requestLog,
    storage,
    checkUrl: (url) => void policy.check(url),
    measure: (video, request) => {
      measured.push(typeof video === 'string' ? video : video.key);
      return measure === undefined ? Promise.resolve(source) : measure(video, request);
    },
    ...(freeBytes === undefined ? {} : { freeBytes }),
    ...(docsDir === undefined ? {} : { docsDir }),
    evidence: {
      signHead: async (head) => signHead(head, await signer),
      jwks: async () => {
        if (store.failure !== undefined) throw store.failure;
        return { keys: [(await signer).publicJwk] };
      },
    },
    keyPepper: pepper,
    publicUrl: () => publicUrl,
    description: descriptionText,
    logger,
    ...(metrics === undefined ? {} : { metrics }),
    ...(options === undefined ? {} : { options }),
  });

  async function request(
    path: string,
    { method = 'GET', key = keys.live, headers = {}, json, body }: RequestOptions = {},
  ) {
    const all = new Headers(headers);
    if (key !== null && !all.has('Authorization')) all.set('Authorization', `Bearer ${key}`);
    if (json !== undefined && !all.has('Content-Type')) all.set('Content-Type', 'application/json');
    const payload = json === undefined ? body : JSON.stringify(json);
    const init = { method, headers: all, ...(payload === undefined ? {} : { body: payload, duplex: 'half' }) };
    const response = await app.request(path, init as RequestInit);
    await checkResponse(method, new URL(path, publicUrl).pathname, response);
    return response;
  }

  const jwks = async () => ({ keys: [(await signer).publicJwk] });
  return { app, requestLog, store, storage, objects, account, keys, logger, logged, measured, jwks, request };
}

export type Api = ReturnType<typeof makeApi>;

export interface ErrorBody {
  error: { code: string; message: string; type: string; param?: string; request_id?: string; doc_url?: string };
}

export async function errorOf(response: Response): Promise<ErrorBody['error']> {
  return ((await response.json()) as ErrorBody).error;
}

/** Bodies that every operation rejects, with the error code: invalid JSON, no object, and `valid` with an unknown field. */
export function refusedBodies(valid: object): [body: string, code: string][] {
  return [
    ['{', 'invalid_json'],
    ['{"a":1,"a":2}', 'invalid_json'],
    ['[]', 'invalid_request'],
    ['null', 'invalid_request'],
    [JSON.stringify({ ...valid, colour: 1 }), 'invalid_request'],
  ];
}
