/** Previews of the session's account, in both modes. */
import type { Context } from 'hono';
import type { ConsolePreview, Preview } from '../../contract/types.gen.ts';
import type { JobRecord } from '../../domain/job.ts';
import { sourceName } from '../../domain/job-words.ts';
import { createPreview } from '../create-preview.ts';
import { deleteJob } from '../delete-job.ts';
import type { WithConsole } from '../deps.ts';
import type { AppEnv } from '../env.ts';
import { assertApproved } from '../middleware/authenticate.ts';
import { describePreview, serializePreview } from '../preview-operations.ts';
import type { ConsoleHandlers } from '../register.ts';
import { previewNotFound } from '../validation.ts';
import { insideRequest, principalOf } from './jobs.ts';
import { pageOf } from '../paging.ts';

type PreviewHandlers = Pick<ConsoleHandlers, 'consoleCreatePreview' | 'consoleListPreviews' | 'consoleGetPreview' | 'consoleDeletePreview'>;

const withRequest = (record: JobRecord, preview: Preview): ConsolePreview => ({
  preview,
  mode: record.mode,
  source_name: sourceName(record),
  video_url: record.videoUrl,
});

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

    consoleListPreviews: async (c) => {
      const { limit, starting_after } = c.req.valid('query');
      const accountId = c.get('session').account.id;
      const rows = await deps.console.store.consoleJobs.list({ accountId, limit, startingAfter: starting_after, previews: true });
      const serialize = (record: JobRecord) => withRequest(record, serializePreview(deps, record, null));
      return c.json(pageOf(rows, limit, { serialize, cursor: ({ id }) => id }), 200);
    },

    consoleGetPreview: async (c) => {
      const preview = await ownPreview(c, c.req.valid('param').id);
      // A HEAD request gets no links.
      const shown = c.req.method === 'HEAD' ? serializePreview(deps, preview, null) : await describePreview(deps, principalOf(c, preview.mode), preview);
      return c.json(withRequest(preview, shown), 200);
    },

    consoleDeletePreview: async (c) => {
      const { id, mode, tier } = await ownPreview(c, c.req.valid('param').id);
      const principal = { ...principalOf(c, mode), tier };
      return c.json(await deleteJob(deps, { principal, id, signal: c.req.raw.signal, notFound: previewNotFound }), 200);
    },
  };
}
