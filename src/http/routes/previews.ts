/** Previews: create, list, get, delete. */
import { createPreview } from '../create-preview.ts';
import { deleteJob } from '../delete-job.ts';
import type { HttpDeps } from '../deps.ts';
import { toPage } from '../paging.ts';
import { describePreview, findPreview, serializePreview } from '../preview-operations.ts';
import type { Handlers } from '../register.ts';
import { previewNotFound } from '../validation.ts';

export function previewHandlers(deps: HttpDeps): Pick<Handlers, 'createPreview' | 'listPreviews' | 'getPreview' | 'deletePreview'> {
  return {
    createPreview: async (c) => {
      const principal = c.get('principal');
      const body = c.req.valid('json');
      const idempotencyKey = c.req.valid('header')['Idempotency-Key'];
      const { preview, replayed } = await createPreview(deps, { principal, body, idempotencyKey, signal: c.req.raw.signal });
      c.set('jobId', preview.id);
      c.header('Location', `/v1/previews/${preview.id}`);
      if (replayed) c.header('Idempotent-Replayed', 'true');
      // A create-only key gets no links by repeating its request.
      return c.json(serializePreview(deps, preview, null), 201);
    },

    listPreviews: async (c) => {
      const { account, mode } = c.get('principal');
      const { limit, starting_after, status } = c.req.valid('query');
      const page = await deps.store.jobs.list({
        accountId: account.id,
        mode,
        limit,
        previews: true,
        ...(starting_after === undefined ? {} : { startingAfter: starting_after }),
        ...(status === undefined ? {} : { status }),
      });
      return c.json(toPage(page.jobs, page.hasMore, { serialize: (preview) => serializePreview(deps, preview, null), cursor: ({ id }) => id }), 200);
    },

    getPreview: async (c) => {
      const principal = c.get('principal');
      const preview = await findPreview(deps, principal, c.req.valid('param').id);
      // A HEAD request gets no links.
      if (c.req.method === 'HEAD') return c.json(serializePreview(deps, preview, null), 200);
      return c.json(await describePreview(deps, principal, preview), 200);
    },

    deletePreview: async (c) => {
      const { id } = c.req.valid('param');
      return c.json(await deleteJob(deps, { principal: c.get('principal'), id, signal: c.req.raw.signal, notFound: previewNotFound }), 200);
    },
  };
}
