/**
 * A worker in its own process, for tests that kill it: real database and filesystem storage, and fake media that take as long
 * as the test sets. `spawnWorker` starts it; its argument is one JSON text.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pino from 'pino';
import { z } from 'zod';
import { createEvidence } from '../../src/evidence/index.ts';
import { createWorker } from '../../src/jobs/index.ts';
import { runChild } from '../../src/media/child-session.ts';
import type { ProbeResult } from '../../src/media/types.ts';
import { createFilesystemStorage, type Storage } from '../../src/storage/index.ts';
import { createS3Storage, type S3StorageOptions } from '../../src/storage/s3.ts';
import { createStore } from '../../src/store/index.ts';
import { runScheduledTasksOften, testCipher } from './worker-world.ts';
import { cutIntoSegments, indexOf } from './segment-fakes.ts';
import { FakeMedia, FakeNet, pause } from './worker-fakes.ts';

export interface WorkerProcessOptions {
  url: string;
  dataDir: string;
  leaseSeconds: number;
  /** ms that one enhancement takes; never ends when negative */
  enhanceMs: number;
  /** a job fails after so many expired leases; default: the service's */
  maxCrashes?: number;
  /** how its media cut each video; they print `begun JOB NUMBER` for each segment. Default: videos stay in one piece */
  segments?: { count: number; pieceS: number };
  /** whether each enhancement is a child process; the worker prints `child PID` when one starts */
  hasChildren?: boolean;
  /** measured values of each source that differ from `probeResult` */
  source?: Partial<ProbeResult>;
  /** where it stores objects; default: files below `dataDir` */
  s3?: S3StorageOptions;
  /** the process hangs in this step: it prints `reached` and waits until it is killed */
  stallAt?: 'download' | 'enhance' | 'put';
}

export interface WorkerProcess {
  child: ChildProcess;
  /** lines that the process printed */
  printed(): string[];
  /** resolves when the process prints that word */
  waitForOutput(word: string): Promise<void>;
  /** the exit status or signal */
  end(signal: NodeJS.Signals): Promise<number | NodeJS.Signals | null>;
}

export function spawnWorker(options: WorkerProcessOptions): WorkerProcess {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    child.emit('output');
  });
  return {
    child,
    printed: () => output.split('\n'),
    async waitForOutput(word) {
      while (!output.includes(word)) {
        if (child.exitCode !== null || child.signalCode !== null) throw new Error(`The worker ended without ${word}`);
        await Promise.race([once(child, 'output'), once(child, 'exit')]);
      }
    },
    async end(signal) {
      if (child.exitCode === null && child.signalCode === null) {
        const exit = once(child, 'exit');
        child.kill(signal);
        await exit;
      }
      return child.exitCode ?? child.signalCode;
    },
  };
}

export const testStorage = (dataDir: string) =>
  createFilesystemStorage({
    root: join(dataDir, 'storage'),
    publicUrl: () => 'http://127.0.0.1',
    linkSecret: 'sixteen characters',
  });

const waitingChild = fileURLToPath(new URL('waiting-child.ts', import.meta.url));

/** Runs a media child that only waits. Rejects like a real one if it is killed. */
async function runWaitingChild(signal: AbortSignal | undefined): Promise<void> {
  const limits = { memoryBytes: 1024 ** 3, outputBytes: 1024 ** 2, timeoutMs: 600_000 };
  const onStart = (pid: number) => console.log(`child ${pid}`);
  await runChild({ plan: { kind: 'none', script: waitingChild, mounts: [], limits }, message: { op: 'hello' }, result: z.null(), signal, onStart });
}

async function main(options: WorkerProcessOptions): Promise<void> {
  const stallAt = async (place: WorkerProcessOptions['stallAt'], signal?: AbortSignal) => {
    console.log(place);
    if (options.stallAt !== place) return;
    console.log('reached');
    await pause(600_000);
    signal?.throwIfAborted();
  };
  const media = new FakeMedia();
  if (options.segments !== undefined) cutIntoSegments(media, { ...options.segments, source: options.source });
  const { onEnhance } = media;
  media.onEnhance = async (request) => {
    const { signal, onProgress } = request;
    if (indexOf(request) !== undefined) console.log(`begun ${/job_[0-9a-z]{26}/.exec(request.outputDir)![0]} ${indexOf(request)}`);
    await stallAt('enhance', signal);
    const start = Date.now();
    try {
      if (options.hasChildren === true) await runWaitingChild(signal);
      while (options.enhanceMs < 0 || Date.now() - start < options.enhanceMs) {
        signal?.throwIfAborted();
        onProgress?.({ fraction: 0.5, framesDone: 1, framesPerSecond: 1, etaS: 1 });
        await pause(50);
      }
      return await onEnhance(request);
    } finally {
      console.log('leaves the enhancement');
    }
  };
  const net = new FakeNet();
  net.onDownload = async (_url, signal) => stallAt('download', signal);
  const storage: Storage = options.s3 === undefined ? testStorage(options.dataDir) : createS3Storage(options.s3);
  const putFile = storage.putFile.bind(storage);
  storage.putFile = async (key, path, put) => {
    const stored = await putFile(key, path, put);
    await stallAt('put', put.signal);
    return stored;
  };
  const store = createStore({ url: options.url, cipher: testCipher });
  const worker = createWorker({
    databaseUrl: options.url,
    store,
    storage,
    media,
    net,
    evidence: createEvidence({ keys: store.signingKeys, cipher: testCipher }),
    logger: pino({ level: 'fatal' }),
    config: {
      dataDir: options.dataDir,
      workerConcurrency: 1,
      downloadConcurrency: 1,
      threads: 1,
      device: 'cpu',
      encoder: { preset: 'veryfast', crf: 18 },
      leaseSeconds: options.leaseSeconds,
      testModeDelayMs: 100,
      ...(options.segments === undefined ? {} : { segmentsFromSeconds: 1 }),
    },
    testModeSample: () => Promise.reject(new Error('no test mode here')),
    tuning: {
      pollIntervalMs: 500,
      // Steps notice within a second that they lost their lease, however long it is.
      heartbeatsPerLease: Math.max(3, options.leaseSeconds),
      periodicMs: { scratch: 500, describe: 1000, fleet: 1000, schedule: 5000 },
      destroyOverdueS: 1,
      ...(options.maxCrashes === undefined ? {} : { maxCrashes: options.maxCrashes }),
    },
  });
  await worker.start();
  const scheduled = runScheduledTasksOften(options.url);
  process.once('SIGTERM', () => {
    void scheduled.stop().then(() => worker.stop()).then(() => store.close());
  });
  console.log('started');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await main(JSON.parse(process.argv[2]!) as WorkerProcessOptions);
}
