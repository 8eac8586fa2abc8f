/**
 * The media child: makes one call of the addon and ends. A warm child is started before its call. The process is isolated,
 * has an empty environment, and speaks only over the inherited socket. It ends when the other side of the socket closes.
 */
import { Socket } from 'node:net';
import type { EnhanceOptions, ByteSource } from '../../native/index.d.ts';
import { loadAddon } from './addon.ts';
import { type FromChild, type ToChild, FrameReader, channelFd, encodeMessage, maxReadBytes } from './wire.ts';

const channel = new Socket({ fd: channelFd, readable: true, writable: true });
const frames = new FrameReader(maxReadBytes * 2);
const cancel = new AbortController();
/** reads without a response yet; when a read fails, the other side ends this process */
const reads = new Map<number, (bytes: Uint8Array) => void>();
let lastRead = 0;
let begun = false;
/** warming up, which the job waits for */
let warmUp: Promise<void> = Promise.resolve();

function send(message: FromChild): void {
  channel.write(encodeMessage(message));
}

/** The other side is gone. SIGKILL, because an orderly exit would wait for the engine's threads. */
function abandon(): never {
  process.kill(process.pid, 'SIGKILL');
  process.exit(1);
}

function remoteSource(size: number): ByteSource {
  return {
    size,
    read(offset, length) {
      const id = ++lastRead;
      return new Promise((resolve) => {
        reads.set(id, resolve);
        send({ type: 'read', id, offset, length: Math.min(length, maxReadBytes) });
      });
    },
  };
}

function settleRead(id: number, bytes: Uint8Array): void {
  reads.get(id)?.(bytes);
  reads.delete(id);
}

function enhanceOptions(options: EnhanceOptions): EnhanceOptions {
  return { ...options, signal: cancel.signal, onProgress: (progress) => send({ type: 'progress', progress }) };
}

async function perform(message: ToChild): Promise<unknown> {
  switch (message.op) {
    case 'hello':
      return 'hello';
    case 'version':
      return loadAddon().version();
    case 'devices':
      return loadAddon().devices();
    case 'probe': {
      const { op: _, source, ...options } = message;
      const from = 'path' in source ? source.path : remoteSource(source.size);
      return loadAddon().probe(from, { ...options, signal: cancel.signal });
    }
    case 'plan':
      return loadAddon().plan(message.input, { ...message.options, signal: cancel.signal });
    case 'plan-segments':
      return loadAddon().planSegments(message.input, { ...message.options, signal: cancel.signal });
    case 'join': {
      const { source, plan, pieces, output, options } = message;
      return loadAddon().joinSegments(source, plan, pieces, output, { ...options, signal: cancel.signal });
    }
    case 'take-pictures':
      return loadAddon().takePictures(message.input, message.folder, { ...message.options, signal: cancel.signal });
    case 'check-model':
      return loadAddon().checkModel(message.model, message.trial);
    case 'compile-model':
      return loadAddon().compileModel(message.model, message.request);
    case 'enhance': {
      if (message.cpuSeconds !== undefined) loadAddon().limitProcessorTime(message.cpuSeconds);
      loadAddon();
      send({ type: 'begun' });
      const input = typeof message.input === 'string' ? message.input : remoteSource(message.input.size);
      return loadAddon().enhance(input, message.output, enhanceOptions(message.options));
    }
    default:
      throw new Error(`unexpected message ${message.op}`);
  }
}

async function answer(message: ToChild): Promise<void> {
  let last: FromChild;
  try {
    last = { type: 'result', value: await perform(message) };
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    const code = 'code' in error && typeof error.code === 'string' ? error.code : 'internal';
    last = { type: 'error', code, message: error.message, stack: error.stack };
  }
  channel.off('close', abandon);
  channel.end(encodeMessage(last), () => process.exit(0));
}

/** Before the job, so that no video is here yet. Failures are ignored: the job meets them again and reports them. */
function warmUpFor(message: Extract<ToChild, { op: 'warm-up' | 'prepare' }>): void {
  warmUp = warmUp
    .then(() => (message.op === 'prepare' ? loadAddon().prepare(message.options, message.expectation) : void loadAddon()))
    .catch(() => {})
    .then(() => {
      if (!begun) send({ type: 'ready' });
    });
}

function receive(message: ToChild): void {
  if (message.op === 'cancel') return cancel.abort();
  if (begun) return;
  if (message.op === 'warm-up' || message.op === 'prepare') return warmUpFor(message);
  begun = true;
  void warmUp.then(() => answer(message));
}

channel.on('data', (chunk) => {
  for (const frame of frames.push(chunk)) {
    if (frame.kind === 'bytes') settleRead(frame.id, frame.bytes);
    else receive(frame.value as ToChild);
  }
});
channel.on('end', abandon);
channel.on('error', abandon);
channel.on('close', abandon);
