/** Webhook endpoints of the account in the key's mode. */
import type { Context } from 'hono';
import type { WhichWebhookEndpoint } from '../../store/types.ts';
import { actorOf } from '../actor.ts';
import type { HttpDeps } from '../deps.ts';
import type { AppEnv } from '../env.ts';
import type { Handlers } from '../register.ts';
import { endpointCalls } from '../webhook-endpoint-operations.ts';

type EndpointHandlers = Pick<
  Handlers,
  | 'listWebhookEndpoints'
  | 'createWebhookEndpoint'
  | 'getWebhookEndpoint'
  | 'updateWebhookEndpoint'
  | 'deleteWebhookEndpoint'
  | 'rotateWebhookEndpointSecret'
  | 'switchWebhookEndpointSecret'
  | 'testWebhookEndpoint'
>;

export function webhookEndpointHandlers(deps: HttpDeps): EndpointHandlers {
  const calls = endpointCalls(deps);
  const which = (c: Context<AppEnv>, { id }: { id: string }): WhichWebhookEndpoint => {
    const { account, mode } = c.get('principal');
    return { accountId: account.id, mode, id };
  };
  const actor = (c: Context<AppEnv>) => actorOf(c.get('principal'));
  return {
    listWebhookEndpoints: async (c) => {
      const { account, mode } = c.get('principal');
      return c.json(await calls.list(account.id, mode), 200);
    },

    createWebhookEndpoint: async (c) => {
      const { account, mode } = c.get('principal');
      const created = await calls.create({ accountId: account.id, mode }, c.req.valid('json'), actor(c));
      c.set('resourceId', created.endpoint.id);
      c.header('Location', `/v1/webhook-endpoints/${created.endpoint.id}`);
      return c.json(created, 201);
    },

    getWebhookEndpoint: async (c) => c.json(await calls.get(which(c, c.req.valid('param'))), 200),

    updateWebhookEndpoint: async (c) =>
      c.json(await calls.update(which(c, c.req.valid('param')), c.req.valid('json'), actor(c)), 200),

    deleteWebhookEndpoint: async (c) => c.json(await calls.delete(which(c, c.req.valid('param')), actor(c)), 200),

    rotateWebhookEndpointSecret: async (c) => c.json(await calls.rotateSecret(which(c, c.req.valid('param')), actor(c)), 201),

    switchWebhookEndpointSecret: async (c) => c.json(await calls.switchSecret(which(c, c.req.valid('param')), actor(c)), 200),

    testWebhookEndpoint: async (c) =>
      c.json(await calls.test(which(c, c.req.valid('param')), c.req.valid('json').event), 202),
  };
}
