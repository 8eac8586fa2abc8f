/** Uploads of the session's account, in both modes. */
import type { Context } from 'hono';
import type { UploadRecord } from '../../domain/uploads.ts';
import type { Principal } from '../../store/types.ts';
import { actorOf } from '../actor.ts';
import type { WithConsole } from '../deps.ts';
import type { AppEnv } from '../env.ts';
import { assertApproved } from '../middleware/authenticate.ts';
import type { ConsoleHandlers } from '../register.ts';
import { completeUpload, createUpload, describeUpload } from '../upload-operations.ts';
import { uploadNotFound } from '../validation.ts';
import { principalOf } from './jobs.ts';

type UploadHandlers = Pick<
  ConsoleHandlers,
  'consoleCreateUpload' | 'consoleGetUpload' | 'consoleCompleteUpload' | 'consoleDeleteUpload'
>;

export function uploadHandlers(deps: WithConsole): UploadHandlers {
  const { uploads } = deps.store;
  return {
    consoleCreateUpload: async (c) => {
      const { mode, request: body } = c.req.valid('json');
      const principal = principalOf(c, mode);
      assertApproved(principal);
      const { upload } = await createUpload(deps, { principal, body, idempotencyKey: c.req.valid('header')['Idempotency-Key'] });
      return c.json(await describeUpload(deps, upload), 201);
    },

    consoleGetUpload: async (c) => {
      const { upload } = await ownUpload(c, deps, c.req.valid('param').id);
      return c.json(await describeUpload(deps, upload), 200);
    },

    consoleCompleteUpload: async (c) => {
      const { sha256 = null, part_sha256: partSha256 = null } = c.req.valid('json');
      const { principal, upload } = await ownUpload(c, deps, c.req.valid('param').id);
      const completed = await completeUpload(deps, principal, { id: upload.id, sha256, partSha256 });
      return c.json(await describeUpload(deps, completed), 200);
    },

    consoleDeleteUpload: async (c) => {
      const { principal, upload } = await ownUpload(c, deps, c.req.valid('param').id);
      const deletion = await uploads.delete(principal.account.id, principal.mode, upload.id, actorOf(principal));
      if (deletion === null) throw uploadNotFound();
      return c.json({ id: deletion.id, deleted: true as const, deleted_at: deletion.deletedAt.toISOString() }, 200);
    },
  };
}

/** An id does not say its mode. Throws ReelmendError `upload_not_found`. */
async function ownUpload(c: Context<AppEnv>, { store }: WithConsole, id: string): Promise<{ principal: Principal; upload: UploadRecord }> {
  const accountId = c.get('session').account.id;
  for (const mode of ['live', 'test'] as const) {
    const upload = await store.uploads.get(accountId, mode, id);
    if (upload !== null) return { principal: principalOf(c, mode), upload };
  }
  throw uploadNotFound();
}
