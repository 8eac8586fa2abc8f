/**
 * Password hashes: Argon2id (RFC 9106) with a random salt, in the PHC string format. Hashing runs on libuv's threads, few
 * at a time, because each hash needs its own memory outside of the heap.
 */
import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { ReelmendError } from './errors.ts';
import { FairSemaphore } from './fair-semaphore.ts';

/**
 * Memory of one hash in KiB, and passes over it. OWASP's Password Storage Cheat Sheet asks for at least 19 MiB and 2 passes.
 * Above 32 MiB (M_MMAP_THRESHOLD_MAX) glibc maps the memory and returns it at once. With 19 MiB, every thread of the pool
 * kept its memory, and the process stayed 180 MB larger.
 */
const memoryKib = 33_792;
const passes = 2;
const parallelism = 1;
const saltBytes = 16;
const tagBytes = 32;

/** `caller` identifies who asks (an IP address); callers take turns. */
export interface Passwords {
  /** a PHC string, such as `$argon2id$v=19$m=33792,t=2,p=1$…$…` */
  hash(password: string, caller?: string): Promise<string>;
  /** Whether the password matches the PHC string. null takes the same time and never matches. */
  verify(password: string, stored: string | null, caller?: string): Promise<boolean>;
}

export interface PasswordOptions {
  /** hashes at a time; default 1, so 33 MiB */
  parallel?: number;
  /** hashes that may wait; more are refused; default 256 */
  waiting?: number;
  /** hashes of one caller that may wait; default 4 */
  waitingEach?: number;
  /** of new hashes; for tests with hundreds of people, who need no safe ones */
  cost?: { memoryKib: number; passes: number };
}

/**
 * Both methods throw ReelmendError `rate_limit_exceeded` if too many hashes of the caller wait, and `service_unavailable` if
 * too many of all callers do.
 */
export function createPasswords({ parallel = 1, waiting = 256, waitingEach = 4, cost = { memoryKib, passes } }: PasswordOptions = {}): Passwords {
  const turns = new FairSemaphore({ total: parallel, waiting, waitingEach, refusal });
  const derive = (password: string, parts: Parts, caller: string) => turns.run(caller, () => argon2id(password, parts));
  return {
    async hash(password, caller = '') {
      const parts = { ...cost, salt: randomBytes(saltBytes), parallelism, tagBytes };
      return format(parts, await derive(password, parts, caller));
    },
    async verify(password, stored, caller = '') {
      const parsed = stored === null ? decoy : parse(stored);
      const tag = await derive(password, parsed.parts, caller);
      return timingSafeEqual(tag, parsed.tag) && stored !== null;
    },
  };
}

const retryAfterS = 5;

function refusal(reason: 'caller' | 'all' | 'time'): ReelmendError {
  if (reason === 'caller') {
    const message = `Too many sign-ins from this IP address at the same time. Retry after ${retryAfterS} s.`;
    return new ReelmendError('rate_limit_exceeded', message, { retryAfterS });
  }
  const message = 'Too many users are signing in. Retry shortly.';
  return new ReelmendError('service_unavailable', message, { retryAfterS });
}

interface Parts {
  salt: Buffer;
  memoryKib: number;
  passes: number;
  parallelism: number;
  tagBytes: number;
}

const decoy = {
  parts: { salt: Buffer.alloc(saltBytes), memoryKib, passes, parallelism, tagBytes },
  tag: Buffer.alloc(tagBytes),
};

/** The same text may be typed as different code points; NFKC makes them one (NIST SP 800-63B §5.1.1.2). */
function argon2id(password: string, parts: Parts): Promise<Buffer> {
  const parameters = {
    message: Buffer.from(password.normalize('NFKC')),
    nonce: parts.salt,
    parallelism: parts.parallelism,
    tagLength: parts.tagBytes,
    memory: parts.memoryKib,
    passes: parts.passes,
  };
  return new Promise((resolve, reject) => {
    argon2('argon2id', parameters, (error, tag) => (error === null ? resolve(tag) : reject(error)));
  });
}

const base64 = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');

function format({ salt, memoryKib: m, passes: t, parallelism: p }: Parts, tag: Buffer): string {
  return `$argon2id$v=19$m=${m},t=${t},p=${p}$${base64(salt)}$${base64(tag)}`;
}

const phc = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/;

function parse(stored: string): { parts: Parts; tag: Buffer } {
  const [, m, t, p, salt, tagText] = phc.exec(stored) ?? [];
  if (tagText === undefined) throw new Error('A stored password is not a PHC string of Argon2id.');
  const tag = Buffer.from(tagText, 'base64');
  const numbers = { memoryKib: Number(m), passes: Number(t), parallelism: Number(p) };
  return { parts: { ...numbers, salt: Buffer.from(salt!, 'base64'), tagBytes: tag.length }, tag };
}
