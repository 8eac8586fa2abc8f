/** Webhook endpoints of a caller. Shared by the routes of the API and of the console. */
import type { WebhookEndpoint, WebhookEndpointSecret } from '../contract/types.gen.ts';
import type { Mode } from '../domain/job.ts';
import { omitUndefined } from '../domain/omit-undefined.ts';
import { type WebhookEvent, webhookEvents } from '../domain/webhooks.ts';
import type { Actor, NewEndpointSecret, WebhookEndpointRecord, WhichWebhookEndpoint } from '../store/types.ts';
import type { HttpDeps } from './deps.ts';
import { parsePublicUrl } from './request-checks.ts';
import { timestamp } from './serialize.ts';
import { webhookEndpointNotFound } from './validation.ts';

/** A validated body; absent fields are undefined. */
interface EndpointUpdate {
  url?: string | undefined;
  events?: WebhookEvent[] | undefined;
  description?: string | undefined;
  enabled?: boolean | undefined;
}

type EndpointInput = Omit<EndpointUpdate, 'enabled'> & { url: string };

function serializeEndpoint({ id, url, events, description, enabled, mode, createdAt }: WebhookEndpointRecord): WebhookEndpoint {
  return { id, url, events, description, enabled, sandbox: mode === 'test', created_at: createdAt.toISOString() };
}

function serializeSecret({ endpoint, secret, switchesAt }: NewEndpointSecret): WebhookEndpointSecret {
  const service_signature = { switches_at: timestamp(switchesAt) };
  return { endpoint: serializeEndpoint(endpoint), secret, service_signature };
}

/** Throws ReelmendError `webhook_endpoint_not_found`. */
function known<T>(found: T | null): T {
  if (found === null) throw webhookEndpointNotFound();
  return found;
}

/** All of them throw ReelmendError with the codes that openapi.yaml lists for the operation. */
export function endpointCalls(deps: HttpDeps) {
  const { webhookEndpoints: store } = deps.store;
  const urlOf = (text: string, param = '/url') => parsePublicUrl(deps, text, param).href;
  return {
    async list(accountId: string, mode?: Mode) {
      return { data: (await store.list(accountId, mode)).map(serializeEndpoint) };
    },

    /** `inside`: JSON Pointer of the field that holds the input */
    async create(owner: { accountId: string; mode: Mode }, input: EndpointInput, actor: Actor, inside = '') {
      const { events = [...webhookEvents], description = '' } = input;
      return serializeSecret(await store.create({ ...owner, url: urlOf(input.url, `${inside}/url`), events, description }, actor));
    },

    get: async (which: WhichWebhookEndpoint) => serializeEndpoint(known(await store.get(which))),

    async update(which: WhichWebhookEndpoint, { url, ...rest }: EndpointUpdate, actor: Actor) {
      const change = omitUndefined({ ...rest, url: url === undefined ? undefined : urlOf(url) });
      return serializeEndpoint(known(await store.update(which, change, actor)));
    },

    async delete(which: WhichWebhookEndpoint, actor: Actor) {
      if (!(await store.delete(which, actor))) known(null);
      return { id: which.id, deleted: true as const };
    },

    rotateSecret: async (which: WhichWebhookEndpoint, actor: Actor) => serializeSecret(known(await store.rotateSecret(which, actor))),

    switchSecret: async (which: WhichWebhookEndpoint, actor: Actor) => serializeEndpoint(known(await store.switchSecret(which, actor))),

    test: async (which: WhichWebhookEndpoint, event: WebhookEvent) => ({ delivery_id: known(await store.test(which, event)) }),
  };
}
