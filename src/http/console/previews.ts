/** Previews of the session's account, in both modes. */
import type { Context } from 'hono';
import type { JobRecord } from '../../domain/job.ts';
import { createPreview } from '../create-preview.ts';
import type { WithConsole } from '../deps.ts';
import type { AppEnv } from '../env.ts';
import { assertApproved } from '../middleware/authenticate.ts';
import { deletePreview, describePreview, serializePreview } from '../previews.ts';
import type { ConsoleHandlers } from '../register.ts';
import { previewNotFound } from '../validation.ts';
import { insideRequest, principalOf } from './jobs.ts';

type PreviewHandlers = Pick<ConsoleHandlers, 'consoleCreatePreview' | 'consoleGetPreview' | 'consoleDeletePreview'>;

export function previewHandlers(deps: WithConsole): PreviewHandlers {
  /** Throws ReelmendError `preview_not_found`. */
  const ownPreview = async (c: Context<AppEnv>, id: string): Promise<JobRecord> => {
    const accountId = c.get('session').account.id;
    const [live, test] = await Promise.all((['live', 'test'] as const).map((mode) => deps.store.jobs.get(accountId, mode, id)));
    const preview = live ?? test ?? null;
    if (preview === null) throw previewNotFound();
    return preview;
  };
  return {
    consoleCreatePreview: async (c) => {
      const { mode, request: body } = c.req.valid('json');
      const principal = principalOf(c, mode);
      assertApproved(principal);
      const idempotencyKey = c.req.valid('header')['Idempotency-Key'];
      const { preview } = await insideRequest(createPreview(deps, { principal, body, idempotencyKey, signal: c.req.raw.signal }));
      return c.json(serializePreview(deps, preview, null), 201);
    },

    consoleGetPreview: async (c) => {
      const preview = await ownPreview(c, c.req.valid('param').id);
      // A HEAD request gets no links.
      if (c.req.method === 'HEAD') return c.json(serializePreview(deps, preview, null), 200);
      return c.json(await describePreview(deps, principalOf(c, preview.mode), preview), 200);
    },

    consoleDeletePreview: async (c) => {
      const { id, mode, tier } = await ownPreview(c, c.req.valid('param').id);
      const principal = { ...principalOf(c, mode), tier };
      return c.json(await deletePreview(deps, { principal, id, signal: c.req.raw.signal }), 200);
    },
  };
}
