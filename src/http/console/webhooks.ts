/** The signing secret, deliveries with their attempts, resending, and test events. */
import type { ConsoleDeliveryDetail, ConsoleWebhookSecret } from '../../contract/types.gen.ts';
import { ReelmendError } from '../../domain/errors.ts';
import { testEventJobId, webhookBody } from '../../domain/webhooks.ts';
import type { DeliveryRecord } from '../../store/index.ts';
import { createJob } from '../create-job.ts';
import type { ConsoleHandlers } from '../register.ts';
import { parsePublicUrl } from '../request-checks.ts';
import type { WithConsole } from '../deps.ts';
import { principalOf } from './jobs.ts';
import { pageOf } from '../paging.ts';
import { timestamp } from '../serialize.ts';
import { serializeAttempt, serializeDelivery } from './serialize.ts';

type WebhookHandlers = Pick<
  ConsoleHandlers,
  | 'consoleGetWebhookSecret'
  | 'consoleRotateWebhookSecret'
  | 'consoleSwitchWebhookSecret'
  | 'consoleListDeliveries'
  | 'consoleGetDelivery'
  | 'consoleResendDelivery'
  | 'consoleTestWebhook'
>;

/** URLs of test jobs that select the event (src/domain/test-mode.ts). They are never fetched. */
const testVideos = {
  'job.completed': 'https://samples.reelmend.invalid/webhook-test.mp4',
  'job.failed': 'https://samples.reelmend.invalid/processing_failed.mp4',
} as const;

export function webhookHandlers(deps: WithConsole): WebhookHandlers {
  const { store } = deps.console;
  const secretOf = async (accountId: string): Promise<ConsoleWebhookSecret> => {
    const { all, secrets, serviceSecret, switchesAt } = await store.webhookSecrets.overview(accountId);
    return {
      secret: secrets[0]!,
      replaced: all.flatMap(({ secret, expiresAt }) =>
        expiresAt === null ? [] : [{ secret, expires_at: expiresAt.toISOString() }],
      ),
      service_signature: { secret: serviceSecret, switches_at: timestamp(switchesAt) },
    };
  };
  /** Throws ReelmendError `not_found`. */
  const ownDelivery = async (accountId: string, id: string): Promise<DeliveryRecord> => {
    const delivery = await store.deliveries.get(accountId, id);
    if (delivery === null) throw new ReelmendError('not_found', 'There is no such delivery.');
    return delivery;
  };
  return {
    consoleGetWebhookSecret: async (c) => c.json(await secretOf(c.get('session').account.id), 200),

    consoleRotateWebhookSecret: async (c) => {
      const { account, user } = c.get('session');
      await store.webhookSecrets.rotate(account.id, { user_id: user.id });
      return c.json(await secretOf(account.id), 201);
    },

    consoleSwitchWebhookSecret: async (c) => {
      const { account, user } = c.get('session');
      await store.webhookSecrets.switchNow(account.id, { user_id: user.id });
      return c.json(await secretOf(account.id), 200);
    },

    consoleListDeliveries: async (c) => {
      const { limit, starting_after, state, job_id } = c.req.valid('query');
      const accountId = c.get('session').account.id;
      const query = { accountId, limit: limit + 1, startingAfter: starting_after, state, jobId: job_id };
      const rows = await store.deliveries.page(query);
      return c.json(pageOf(rows, limit, { serialize: serializeDelivery, cursor: ({ id }) => id }), 200);
    },

    consoleGetDelivery: async (c) => {
      const delivery = await ownDelivery(c.get('session').account.id, c.req.valid('param').id);
      return c.json(serializeWithRequest(delivery), 200);
    },

    consoleResendDelivery: async (c) => {
      const { id, url } = await ownDelivery(c.get('session').account.id, c.req.valid('param').id);
      if (url === null) throw notResendable();
      return c.json(serializeWithRequest(await resend(deps, id)), 202);
    },

    consoleTestWebhook: async (c) => {
      const { url, event } = c.req.valid('json');
      parsePublicUrl(deps, url, '/url');
      const body = {
        video_url: testVideos[event],
        resolution: '1080p' as const,
        duration_seconds: 1,
        webhook_url: url,
        metadata: { purpose: 'webhook-test' },
      };
      const principal = principalOf(c, 'test');
      const { job } = await createJob(deps, { principal, body, idempotencyKey: undefined, signal: c.req.raw.signal });
      return c.json({ job_id: job.id }, 201);
    },
  };
}

const notResendable = () =>
  new ReelmendError('delivery_not_resendable', 'The job or the webhook endpoint was deleted, and the URL with it.');

async function resend({ console: { store } }: WithConsole, id: string): Promise<DeliveryRecord> {
  const found = await store.deliveries.resend(id).catch(async (error: unknown) => {
    // The delivery was deleted between the two queries.
    if (await store.deliveries.isGone(id)) throw notResendable();
    throw error;
  });
  if (found === null) throw new ReelmendError('not_found', 'There is no such delivery.');
  return found;
}

function serializeWithRequest(delivery: DeliveryRecord): ConsoleDeliveryDetail {
  return {
    delivery: serializeDelivery(delivery),
    request: {
      method: 'POST',
      url: delivery.url,
      headers: {
        'content-type': 'application/json',
        'user-agent': 'Reelmend-Webhooks/1',
        'webhook-id': delivery.id,
      },
      body: webhookBody(delivery.event, delivery.jobId ?? testEventJobId),
    },
    attempts: delivery.attempts.map(serializeAttempt),
  };
}
