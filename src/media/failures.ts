/** Classifies failures of media children as ReelmendError. */
import { constants } from 'node:os';
import { ReelmendError, type ErrorCode } from '../domain/errors.ts';

/** An error as the child reports it; `code` is one of the addon's (native/index.d.ts). */
export interface ChildFailure {
  code: string;
  message: string;
  stack?: string | undefined;
}

const generic = 'The video could not be processed.';
const interrupted = 'The processing of the video was interrupted.';

/** The addon's codes; `message` replaces an engine's sentence that would mean nothing to a customer. */
const table: Record<string, { code: ErrorCode; message?: string }> = {
  unreadable_video: { code: 'unreadable_video' },
  limit_exceeded: { code: 'unreadable_video' },
  invalid_argument: { code: 'processing_failed' },
  unavailable: { code: 'processing_failed' },
  no_engine: { code: 'processing_failed' },
  segment_mismatch: { code: 'processing_failed' },
  // Our disk is full or broken. The video is not the reason, so the step may be tried again.
  io: { code: 'service_unavailable', message: 'The video could not be read or its result could not be written.' },
};

/** The engine has one code for all limits. Its sentence tells whether the duration was exceeded, which has its own code here. */
const aboutDuration = /\b(long|longer|lasts|duration)\b/i;

/** The engine's text for EFBIG: the output exceeded its size limit and would again. Other faults of a disk may pass. */
const aboutOutputSize = /File too large/;

/** Whether a message may be shown: one line, no path. The engine guarantees that, but the child is not trusted. */
function presentable(message: string): boolean {
  return /^[^\p{Cc}\\/]{1,300}$/u.test(message);
}

/** The cause of a failure that may not happen on another device: the engine reported one, or the child crashed. */
class DeviceFault extends Error {
  override readonly name = 'DeviceFault';
}

export function isDeviceFault(error: unknown): error is ReelmendError {
  return error instanceof ReelmendError && error.cause instanceof DeviceFault;
}

/** The video is not at fault, so another worker may enhance it. `cause`: why the devices could not be queried. */
export function noUsableGpu(cause?: unknown): ReelmendError {
  return new ReelmendError('service_unavailable', 'No GPU of this worker can be used.', { cause: new DeviceFault('no GPU can be used', { cause }) });
}

/** The same fault, of a GPU that is lost. The video is not at fault, so another worker may enhance it. */
export function gpuIsLost({ message, cause }: ReelmendError): ReelmendError {
  return new ReelmendError('service_unavailable', message, { cause });
}

/** The cause if a healthy GPU has no engine of the network. Building one takes minutes. */
class NoEngine extends Error {
  override readonly name = 'NoEngine';
}

export function isNoEngine(error: unknown): boolean {
  return error instanceof ReelmendError && error.cause instanceof NoEngine;
}

/** The cause if what was given to the engine is wrong: options, or a network that the device cannot run. */
class Refused extends Error {
  override readonly name = 'Refused';
}

/** Of a network that was to be compiled or loaded. */
export function doesNotFitDevice(error: unknown): error is ReelmendError {
  return error instanceof ReelmendError && error.cause instanceof Refused;
}

/** The cause if a segment or a piece is not what its plan says. The video can be enhanced in one piece. */
class SegmentMismatch extends Error {
  override readonly name = 'SegmentMismatch';
}

export function isSegmentMismatch(error: unknown): boolean {
  return error instanceof ReelmendError && error.cause instanceof SegmentMismatch;
}

/** The cause if no frame of the video begins in a segment: its frames are far apart there. */
class EmptySegment extends Error {
  override readonly name = 'EmptySegment';
}

export function isEmptySegment(error: unknown): boolean {
  return error instanceof ReelmendError && error.cause instanceof EmptySegment;
}

/** The engine's sentence: its code stands for every wrong argument. */
const aboutNoFrame = /\bcontains no frame\b/;

const causes: Record<string, new (message: string) => Error> = {
  invalid_argument: Refused,
  unavailable: DeviceFault,
  no_engine: NoEngine,
  segment_mismatch: SegmentMismatch,
};

export function failureFromChild(failure: ChildFailure): ReelmendError {
  const known = table[failure.code] ?? { code: 'processing_failed' as const, message: generic };
  const isEmpty = failure.code === 'invalid_argument' && aboutNoFrame.test(failure.message);
  const Cause = isEmpty ? EmptySegment : (causes[failure.code] ?? Error);
  const cause = new Cause(`${failure.code}: ${failure.message}`);
  if (failure.stack !== undefined) cause.stack = failure.stack;
  const tooLong = failure.code === 'limit_exceeded' && aboutDuration.test(failure.message);
  const tooLarge = failure.code === 'io' && aboutOutputSize.test(failure.message);
  if (tooLarge) return new ReelmendError('processing_failed', 'The enhanced video would be larger than is allowed.', { cause });
  const own = presentable(failure.message) ? failure.message : generic;
  return new ReelmendError(tooLong ? 'video_too_long' : known.code, known.message ?? own, { cause });
}

interface ChildExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** Signals of the kernel's OOM killer and of operators. A fault of the decoder raises others. */
const signalsFromOutside: readonly NodeJS.Signals[] = ['SIGKILL', 'SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'];

/** Bubblewrap and shells report a signal as a status. */
const statusOfSignal = (signal: NodeJS.Signals) => 128 + constants.signals[signal];

/** Whether something outside the child ended it. Then the video need not be the reason. */
function endedFromOutside({ code, signal }: ChildExit): boolean {
  return signalsFromOutside.some((each) => signal === each || code === statusOfSignal(each));
}

/** The process of a child could not be started: the machine lacks processes, file descriptors or memory. */
export function notStarted(cause: Error): ReelmendError {
  return new ReelmendError('service_unavailable', interrupted, { cause });
}

/**
 * The child ended without a result. `stderrTail` is the end of its standard error, for the log; `sawVideo`: it had opened the video,
 * which then may be the reason.
 */
export function crashed(exit: ChildExit, stderrTail: string, sawVideo = true): ReelmendError {
  const how = exit.signal === null ? `status ${exit.code}` : `signal ${exit.signal}`;
  const text = `the media child ended with ${how}${stderrTail === '' ? '' : `: ${stderrTail}`}`;
  // The step is tried again, as often as after any fault of the service: a video that needs all memory ends in error, too.
  if (endedFromOutside(exit)) return new ReelmendError('service_unavailable', interrupted, { cause: new Error(text) });
  if (!sawVideo) return new ReelmendError('service_unavailable', interrupted, { cause: new DeviceFault(text) });
  return new ReelmendError('processing_failed', generic, { cause: new DeviceFault(text) });
}

export function timedOut(timeoutMs: number): ReelmendError {
  const cause = new Error(`the media child was ended after ${timeoutMs} ms`);
  return new ReelmendError('processing_timeout', 'The video took longer to process than is allowed.', { cause });
}

export function outOfMemory(bytes: number, limit: number): ReelmendError {
  const cause = new Error(`the media child used ${bytes} bytes of memory, more than ${limit}`);
  return new ReelmendError('processing_failed', 'The video needs more memory to process than is allowed.', { cause });
}

export function misbehaved(why: unknown): ReelmendError {
  return new ReelmendError('processing_failed', generic, { cause: why });
}
