/** What went wrong in or with a child → the service's one error type. */
import { ReelmendError, type ErrorCode } from '../domain/errors.ts';

/** An error as the child told it: `code` is one of the addon's (native/index.d.ts). */
export interface ChildFailure {
  code: string;
  message: string;
  stack?: string | undefined;
}

const generic = 'The video could not be processed.';

/** The addon's codes; `message` replaces the engine's sentence where that would say nothing to a customer. */
const table: Record<string, { code: ErrorCode; message?: string }> = {
  unreadable_video: { code: 'unreadable_video' },
  limit_exceeded: { code: 'unreadable_video' },
  invalid_argument: { code: 'processing_failed' },
  unavailable: { code: 'processing_failed' },
  no_engine: { code: 'processing_failed' },
  // A disk of ours that is full or broken is no fault of the video: the step may be tried again.
  io: { code: 'service_unavailable', message: 'The video could not be read or its result could not be written.' },
};

/** Of the ceilings only that of the duration has a code of its own; the engine's sentence tells which it was. */
const aboutDuration = /\b(long|longer|lasts|duration)\b/i;

/** EFBIG as the engine words it: the result passed its ceiling, and would do so again. Other faults of a disk may pass. */
const aboutCeiling = /File too large/;

/** One line that may be shown: the engine promises that; the child that carries it is not trusted. */
function presentable(message: string): boolean {
  return /^[^\p{Cc}\\/]{1,300}$/u.test(message);
}

/** The cause of a failure that another device may not have: the engine said so, or the child crashed. */
class DeviceFault extends Error {
  override readonly name = 'DeviceFault';
}

export function isDeviceFault(error: unknown): boolean {
  return error instanceof ReelmendError && error.cause instanceof DeviceFault;
}

/** The cause where a GPU is well but has no engine of the network, which would take minutes to build. */
class NoEngine extends Error {
  override readonly name = 'NoEngine';
}

export function isNoEngine(error: unknown): boolean {
  return error instanceof ReelmendError && error.cause instanceof NoEngine;
}

const causes: Record<string, new (message: string) => Error> = { unavailable: DeviceFault, no_engine: NoEngine };

export function failureFromChild(failure: ChildFailure): ReelmendError {
  const known = table[failure.code] ?? { code: 'processing_failed' as const, message: generic };
  const Cause = causes[failure.code] ?? Error;
  const cause = new Cause(`${failure.code}: ${failure.message}`);
  if (failure.stack !== undefined) cause.stack = failure.stack;
  const tooLong = failure.code === 'limit_exceeded' && aboutDuration.test(failure.message);
  const tooLarge = failure.code === 'io' && aboutCeiling.test(failure.message);
  if (tooLarge) return new ReelmendError('processing_failed', 'The enhanced video would be larger than is allowed.', { cause });
  const own = presentable(failure.message) ? failure.message : generic;
  return new ReelmendError(tooLong ? 'video_too_long' : known.code, known.message ?? own, { cause });
}

/** The child ended without an answer. `said` is the end of its standard error, for the log. */
export function crashed(exit: { code: number | null; signal: NodeJS.Signals | null }, said: string): ReelmendError {
  const how = exit.signal === null ? `status ${exit.code}` : `signal ${exit.signal}`;
  const cause = new DeviceFault(`the media child ended with ${how}${said === '' ? '' : `: ${said}`}`);
  return new ReelmendError('processing_failed', generic, { cause });
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
