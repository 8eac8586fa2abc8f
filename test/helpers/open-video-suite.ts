/** Set-up of the tests that read a remote video without downloading it. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { createNetClient } from '../../src/net/index.ts';
import type { GuardedClient, NetClientOptions, RemoteVideo } from '../../src/net/index.ts';
import { startFileServer } from './fileserver.ts';
import type { Behaviour, FileServer } from './fileserver.ts';
import { hangMs } from './wait.ts';

/** What the server has. */
export const data = randomBytes(9_000_001);
/** Nothing here is too slow, however busy the machine is; tests of a limit set theirs. */
export const timeouts = {
  connectMs: hangMs,
  headersMs: hangMs,
  idleMs: hangMs,
  minBytesPerSecond: 0,
  retryDelayMs: 5,
  attempts: 3,
};
export const never = new AbortController().signal;

/** `server` and `client` are those of the running test. */
export interface VideoSuite {
  server: FileServer;
  client: GuardedClient;
  /** folder of this file's temporary files alone: other processes have some, too */
  temporary: string;
  /** Replaces the client. */
  use: (options?: Partial<NetClientOptions>) => void;
  open: (behaviour?: Behaviour, maxBytes?: number) => Promise<RemoteVideo>;
}

export function setUpVideo(): VideoSuite {
  const suite = { use, open } as VideoSuite;
  const temporaryOfAll = process.env['TMPDIR'];

  beforeAll(async () => {
    suite.temporary = await mkdtemp(join(tmpdir(), 'reelmend-open-video-'));
    process.env['TMPDIR'] = suite.temporary;
  });
  afterAll(async () => {
    if (temporaryOfAll === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = temporaryOfAll;
    await rm(suite.temporary, { recursive: true });
  });
  beforeEach(async () => {
    suite.server = await startFileServer({ paths: { '/a.mp4': { body: data } } });
    use();
  });
  afterEach(async () => {
    await suite.client.close();
    await suite.server.close();
  });

  function use(options: Partial<NetClientOptions> = {}): void {
    suite.client = createNetClient({ allowHosts: [suite.server.hostPort], timeouts, ...options });
  }

  function open(behaviour: Behaviour = {}, maxBytes = 1e9): Promise<RemoteVideo> {
    suite.server.behave('/a.mp4', behaviour);
    return suite.client.openVideo(`${suite.server.url}/a.mp4`, { maxBytes });
  }
  return suite;
}

export const unreachable = (message: RegExp) => ({ code: 'video_unreachable', message: expect.stringMatching(message) });

/** Reads a span to its end, as a demuxer does. */
export async function readAll(video: Pick<RemoteVideo, 'size' | 'read'>, from = 0, to = video.size): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for (let at = from; at < to;) {
    const piece = await video.read(at, to - at, never);
    if (piece.length === 0) break;
    pieces.push(piece);
    at += piece.length;
  }
  return Buffer.concat(pieces);
}
