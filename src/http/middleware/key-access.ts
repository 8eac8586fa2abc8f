/** What restricted API keys may call. The one place that knows. */
import { createMiddleware } from 'hono/factory';
import type { KeyAccess } from '../../domain/api-key.ts';
import { ReelmendError } from '../../domain/errors.ts';
import type { AppEnv } from '../env.ts';
import type { OperationId } from '../register.ts';

/** All that sending a video and creating its job takes. */
const creating: ReadonlySet<OperationId> = new Set([
  'createJob',
  'createQuote',
  'createPreview',
  'createUpload',
  'getUpload',
  'completeUpload',
] satisfies OperationId[]);

/** An operation that is new here is safe: reading keys get it if it is a GET, and creating ones do not. */
export function allows(access: KeyAccess, { id, method }: { id: OperationId; method: string }): boolean {
  if (access === 'full') return true;
  return access === 'read_only' ? method === 'get' : creating.has(id);
}

const reasons: Readonly<Record<Exclude<KeyAccess, 'full'>, string>> = {
  read_only: 'This key may only read. Use a key with another access for this call.',
  create_only: 'This key may only create jobs, previews and uploads. Use a key with another access for this call.',
};

/** Runs after `authenticate`. Throws ReelmendError `key_access_denied`. */
export function requireAccess(operation: { id: OperationId; method: string }) {
  return createMiddleware<AppEnv>(async (c, next) => {
    const { access } = c.get('principal');
    if (access !== 'full' && !allows(access, operation)) throw new ReelmendError('key_access_denied', reasons[access]);
    await next();
  });
}
