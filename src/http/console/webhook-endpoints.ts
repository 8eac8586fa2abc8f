/** Webhook endpoints of the session's account, in both modes. */
import type { Context } from 'hono';
import type { Actor, WhichWebhookEndpoint } from '../../store/types.ts';
import type { WithConsole } from '../deps.ts';
import type { AppEnv } from '../env.ts';
import type { ConsoleHandlers } from '../register.ts';
import { endpointCalls } from '../webhook-endpoint-operations.ts';

type EndpointHandlers = Pick<
  ConsoleHandlers,
  | 'consoleListWebhookEndpoints'
  | 'consoleCreateWebhookEndpoint'
  | 'consoleUpdateWebhookEndpoint'
  | 'consoleDeleteWebhookEndpoint'
  | 'consoleRotateWebhookEndpointSecret'
  | 'consoleSwitchWebhookEndpointSecret'
  | 'consoleTestWebhookEndpoint'
>;

export function webhookEndpointHandlers(deps: WithConsole): EndpointHandlers {
  const calls = endpointCalls(deps);
  const which = (c: Context<AppEnv>, { id }: { id: string }): WhichWebhookEndpoint => ({ accountId: c.get('session').account.id, id });
  const actor = (c: Context<AppEnv>): Actor => ({ user_id: c.get('session').user.id });
  return {
    consoleListWebhookEndpoints: async (c) => c.json(await calls.list(c.get('session').account.id), 200),

    consoleCreateWebhookEndpoint: async (c) => {
      const { mode, request } = c.req.valid('json');
      const owner = { accountId: c.get('session').account.id, mode };
      return c.json(await calls.create(owner, request, actor(c), '/request'), 201);
    },

    consoleUpdateWebhookEndpoint: async (c) =>
      c.json(await calls.update(which(c, c.req.valid('param')), c.req.valid('json'), actor(c)), 200),

    consoleDeleteWebhookEndpoint: async (c) => c.json(await calls.delete(which(c, c.req.valid('param')), actor(c)), 200),

    consoleRotateWebhookEndpointSecret: async (c) => c.json(await calls.rotateSecret(which(c, c.req.valid('param')), actor(c)), 201),

    consoleSwitchWebhookEndpointSecret: async (c) => c.json(await calls.switchSecret(which(c, c.req.valid('param')), actor(c)), 200),

    consoleTestWebhookEndpoint: async (c) =>
      c.json(await calls.test(which(c, c.req.valid('param')), c.req.valid('json').event), 202),
  };
}
