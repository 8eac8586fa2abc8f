/** API calls and queries of webhook endpoints. */
import { useQuery } from '@tanstack/react-query';
import type {
  ConsoleCreateWebhookEndpointData,
  ConsoleCreateWebhookEndpointResponse,
  ConsoleDeleteWebhookEndpointData,
  ConsoleDeleteWebhookEndpointResponse,
  ConsoleListWebhookEndpointsData,
  ConsoleListWebhookEndpointsResponse,
  ConsoleRotateWebhookEndpointSecretData,
  ConsoleRotateWebhookEndpointSecretResponse,
  ConsoleSwitchWebhookEndpointSecretData,
  ConsoleSwitchWebhookEndpointSecretResponse,
  ConsoleTestWebhookEndpointData,
  ConsoleTestWebhookEndpointResponse,
  ConsoleUpdateWebhookEndpointData,
  ConsoleUpdateWebhookEndpointResponse,
} from '../../contract/types.gen.ts';
import { call } from './client.ts';

const base = '/console/api/webhook-endpoints';

export function useWebhookEndpoints() {
  return useQuery({
    queryKey: ['webhook-endpoints'],
    queryFn: async ({ signal }) =>
      (await call<ConsoleListWebhookEndpointsData, ConsoleListWebhookEndpointsResponse>('GET', base, {}, { signal })).data,
  });
}

export function createWebhookEndpoint(body: ConsoleCreateWebhookEndpointData['body']): Promise<ConsoleCreateWebhookEndpointResponse> {
  return call<ConsoleCreateWebhookEndpointData, ConsoleCreateWebhookEndpointResponse>('POST', base, { body });
}

export function updateWebhookEndpoint(id: string, body: ConsoleUpdateWebhookEndpointData['body']): Promise<ConsoleUpdateWebhookEndpointResponse> {
  return call<ConsoleUpdateWebhookEndpointData, ConsoleUpdateWebhookEndpointResponse>('PATCH', `${base}/{id}`, { path: { id }, body });
}

export function deleteWebhookEndpoint(id: string): Promise<ConsoleDeleteWebhookEndpointResponse> {
  return call<ConsoleDeleteWebhookEndpointData, ConsoleDeleteWebhookEndpointResponse>('DELETE', `${base}/{id}`, { path: { id } });
}

export function rotateWebhookEndpointSecret(id: string): Promise<ConsoleRotateWebhookEndpointSecretResponse> {
  const at = `${base}/{id}/secret/rotation` as const;
  return call<ConsoleRotateWebhookEndpointSecretData, ConsoleRotateWebhookEndpointSecretResponse>('POST', at, { path: { id } });
}

export function switchWebhookEndpointSecret(id: string): Promise<ConsoleSwitchWebhookEndpointSecretResponse> {
  const at = `${base}/{id}/secret/switch` as const;
  return call<ConsoleSwitchWebhookEndpointSecretData, ConsoleSwitchWebhookEndpointSecretResponse>('POST', at, { path: { id } });
}

export function testWebhookEndpoint(id: string, event: 'job.completed' | 'job.failed'): Promise<ConsoleTestWebhookEndpointResponse> {
  const body = { event };
  return call<ConsoleTestWebhookEndpointData, ConsoleTestWebhookEndpointResponse>('POST', `${base}/{id}/test`, { path: { id }, body });
}
