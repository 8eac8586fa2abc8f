/** The operations that restricted API keys may call. Only this file decides it. */
import { createMiddleware } from 'hono/factory';
import type { KeyAccess } from '../../domain/api-key.ts';
import { ReelmendError } from '../../domain/errors.ts';
import type { AppEnv } from '../env.ts';
import type { OperationId } from '../register.ts';

/** The operations for sending a video and creating its job. */
const creating: ReadonlySet<OperationId> = new Set([
  'createJob',
  'createQuote',
  'createPreview',
  'createUpload',
  'getUpload',
  'completeUpload',
] satisfies OperationId[]);

/** New operations are safe by default: read-only keys may call them if they are a GET, create-only keys may not. */
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
