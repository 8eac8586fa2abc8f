/**
 * The protocol between the service and a media child, over one inherited socket.
 * A frame is: length of the rest (u32, little endian), kind (u8), payload. A `json` payload is one message;
 * a `bytes` payload is the id of a read (u32) and the bytes that were read.
 */
import type { CompileRequest, EnhanceOptions, Expectation, ModelFile, ModelTrial, PicturesOptions, Progress, SegmentLengths, SourceLimits } from '../../native/index.d.ts';

/** The child's end of the socket, an inherited file descriptor. */
export const channelFd = 3;
/** Longest frame that the child may send; a result with all its streams is far shorter. */
export const maxMessageBytes = 256 * 1024;
/** Most bytes of one read. */
export const maxReadBytes = 1024 * 1024;

/** What the addon's `enhance` gets from the service; the child adds the rest. */
export type AddonOptions = Omit<EnhanceOptions, 'signal' | 'onProgress'>;

export type ToChild =
  /** tests whether a child can run at all; the addon is not loaded */
  | { op: 'hello' }
  | { op: 'version' }
  | { op: 'devices' }
  | { op: 'probe'; source: { path: string } | { size: number }; limits?: SourceLimits; walkPackets?: boolean; decodingThreads?: number }
  /** loads the addon and waits for another message; the child sends `ready` */
  | { op: 'warm-up' }
  /** to a warm child: prepares it for such a job; the child sends `ready` */
  | { op: 'prepare'; options: AddonOptions; expectation: Expectation }
  /** `cpuSeconds`: limit of processor time from now on, for a warm child, whose limit was set for any job */
  | { op: 'enhance'; input: string | { size: number }; output: string; options: AddonOptions; cpuSeconds?: number }
  | { op: 'plan'; input: string; options: AddonOptions }
  | { op: 'plan-segments'; input: string; options: AddonOptions & { lengths?: SegmentLengths } }
  | { op: 'join'; source: string; plan: string; pieces: string[]; output: string; options: { limits?: SourceLimits } }
  /** `folder`: where the pictures go */
  | { op: 'take-pictures'; input: string; folder: string; options: Omit<PicturesOptions, 'signal'> }
  | { op: 'check-model'; model: ModelFile; trial: ModelTrial }
  | { op: 'compile-model'; model: ModelFile; request: CompileRequest }
  /** the child stops soon and sends an error with the code `cancelled` */
  | { op: 'cancel' };

export type FromChild =
  /** a warm child waits for its job */
  | { type: 'ready' }
  /** the addon is loaded and gets the job now */
  | { type: 'begun' }
  | { type: 'read'; id: number; offset: number; length: number }
  | { type: 'progress'; progress: Progress }
  | { type: 'result'; value: unknown }
  | { type: 'error'; code: string; message: string; stack?: string | undefined };

export type Frame = { kind: 'json'; value: unknown } | { kind: 'bytes'; id: number; bytes: Uint8Array };

const jsonKind = 1;
const bytesKind = 2;
const headerBytes = 5;

export class WireError extends Error {
  override readonly name = 'WireError';
}

function header(kind: number, payloadBytes: number): Buffer {
  const buffer = Buffer.allocUnsafe(headerBytes);
  buffer.writeUInt32LE(payloadBytes + 1, 0);
  buffer.writeUInt8(kind, 4);
  return buffer;
}

export function encodeMessage(message: ToChild | FromChild): Buffer {
  const payload = Buffer.from(JSON.stringify(message));
  return Buffer.concat([header(jsonKind, payload.length), payload]);
}

export function encodeBytes(id: number, bytes: Uint8Array): Buffer {
  const prefix = Buffer.allocUnsafe(4);
  prefix.writeUInt32LE(id, 0);
  return Buffer.concat([header(bytesKind, prefix.length + bytes.length), prefix, bytes]);
}

/** Cuts a stream of chunks into frames. Throws WireError on a frame that is too long or malformed. */
export class FrameReader {
  readonly #maxBytes: number;
  #chunks: Buffer[] = [];
  #length = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  push(chunk: Buffer): Frame[] {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    const frames: Frame[] = [];
    for (let frame = this.#next(); frame !== undefined; frame = this.#next()) frames.push(frame);
    return frames;
  }

  #next(): Frame | undefined {
    if (this.#length < headerBytes) return undefined;
    if (this.#chunks[0]!.length < headerBytes) this.#join();
    const rest = this.#chunks[0]!.readUInt32LE(0);
    if (rest < 1 || rest > this.#maxBytes) throw new WireError(`a frame of ${rest} bytes`);
    const total = 4 + rest;
    if (this.#length < total) return undefined;
    this.#join();
    const buffer = this.#chunks[0]!;
    this.#chunks = total < buffer.length ? [buffer.subarray(total)] : [];
    this.#length -= total;
    return decode(buffer.readUInt8(4), buffer.subarray(headerBytes, total));
  }

  /** Called only when a frame is complete, so that a long one is copied once. */
  #join(): void {
    if (this.#chunks.length > 1) this.#chunks = [Buffer.concat(this.#chunks)];
  }
}

function decode(kind: number, payload: Buffer): Frame {
  if (kind === bytesKind && payload.length >= 4) {
    return { kind: 'bytes', id: payload.readUInt32LE(0), bytes: payload.subarray(4) };
  }
  if (kind !== jsonKind) throw new WireError(`a frame of unknown kind ${kind}`);
  try {
    return { kind: 'json', value: JSON.parse(payload.toString('utf8')) };
  } catch {
    throw new WireError('a message that is no JSON');
  }
}
