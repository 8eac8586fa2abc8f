/** API calls and queries of the account: keys, webhooks, credits, evidence, sessions. */
import { useQuery } from '@tanstack/react-query';
import type {
  AuditEntry,
  ConsoleCertificate,
  ConsoleCreateKeyData,
  ConsoleCreateKeyResponse,
  ConsoleDelivery,
  ConsoleEndOtherSessionsData,
  ConsoleEndOtherSessionsResponse,
  ConsoleEndSessionData,
  ConsoleEndSessionResponse,
  ConsoleExportAuditLogData,
  ConsoleExportAuditLogResponse,
  ConsoleGetDeliveryData,
  ConsoleGetDeliveryResponse,
  ConsoleGetUsageData,
  ConsoleGetUsageResponse,
  ConsoleGetWebhookSecretData,
  ConsoleGetWebhookSecretResponse,
  ConsoleKey,
  LedgerEntry,
  ConsoleListAuditLogData,
  ConsoleListAuditLogResponse,
  ConsoleListCertificatesData,
  ConsoleListCertificatesResponse,
  ConsoleListDeliveriesData,
  ConsoleListDeliveriesResponse,
  ConsoleListKeysData,
  ConsoleListKeysResponse,
  ConsoleListLedgerData,
  ConsoleListLedgerResponse,
  ConsoleListSessionsData,
  ConsoleListSessionsResponse,
  ConsoleRenameKeyData,
  ConsoleRenameKeyResponse,
  ConsoleResendDeliveryData,
  ConsoleResendDeliveryResponse,
  ConsoleRevokeKeyData,
  ConsoleRevokeKeyResponse,
  ConsoleRotateKeyData,
  ConsoleRotateKeyResponse,
  ConsoleRotateWebhookSecretData,
  ConsoleRotateWebhookSecretResponse,
  ConsoleSessionEntry,
  ConsoleSwitchWebhookSecretData,
  ConsoleSwitchWebhookSecretResponse,
  ConsoleTestWebhookData,
  ConsoleTestWebhookResponse,
  ConsoleUpdateAccountData,
  ConsoleUpdateAccountResponse,
  Jwks,
} from '../../contract/types.gen.ts';
import { call, startingAfter } from './client.ts';
import { useList } from './lists.ts';

export function useKeys() {
  return useList<ConsoleKey, string>(['keys'], (cursor, signal) => {
    const query = { limit: 100, ...startingAfter(cursor) };
    return call<ConsoleListKeysData, ConsoleListKeysResponse>('GET', '/console/api/keys', { query }, { signal });
  });
}

export function createKey(body: ConsoleCreateKeyData['body']): Promise<ConsoleCreateKeyResponse> {
  return call<ConsoleCreateKeyData, ConsoleCreateKeyResponse>('POST', '/console/api/keys', { body });
}

export function renameKey(id: string, name: string): Promise<ConsoleRenameKeyResponse> {
  return call<ConsoleRenameKeyData, ConsoleRenameKeyResponse>('PATCH', '/console/api/keys/{id}', { path: { id }, body: { name } });
}

export function rotateKey(id: string, overlapDays: number): Promise<ConsoleRotateKeyResponse> {
  return call<ConsoleRotateKeyData, ConsoleRotateKeyResponse>('POST', '/console/api/keys/{id}/rotation', {
    path: { id },
    body: { overlap_days: overlapDays },
  });
}

export function revokeKey(id: string): Promise<ConsoleRevokeKeyResponse> {
  return call<ConsoleRevokeKeyData, ConsoleRevokeKeyResponse>('DELETE', '/console/api/keys/{id}', { path: { id } });
}

export function useWebhookSecret() {
  return useQuery({
    queryKey: ['webhook-secret'],
    queryFn: ({ signal }) =>
      call<ConsoleGetWebhookSecretData, ConsoleGetWebhookSecretResponse>('GET', '/console/api/webhooks/secret', {}, { signal }),
  });
}

export function rotateWebhookSecret(): Promise<ConsoleRotateWebhookSecretResponse> {
  const url = '/console/api/webhooks/secret/rotation';
  return call<ConsoleRotateWebhookSecretData, ConsoleRotateWebhookSecretResponse>('POST', url, {});
}

export function switchWebhookSecret(): Promise<ConsoleSwitchWebhookSecretResponse> {
  const url = '/console/api/webhooks/secret/switch';
  return call<ConsoleSwitchWebhookSecretData, ConsoleSwitchWebhookSecretResponse>('POST', url, {});
}

export type DeliveryState = ConsoleDelivery['state'];

export function useDeliveries(filters: { state?: DeliveryState; job_id?: string }) {
  return useList<ConsoleDelivery, string>(
    ['deliveries', filters],
    (cursor, signal) => {
      const query = { limit: 25, ...filters, ...startingAfter(cursor) };
      return call<ConsoleListDeliveriesData, ConsoleListDeliveriesResponse>(
        'GET',
        '/console/api/webhooks/deliveries',
        { query },
        { signal },
      );
    },
    // Polled: an attempt changes no job, so the event stream does not report it.
    { intervalMs: 5000 },
  );
}

export function useDelivery(id: string) {
  return useQuery({
    queryKey: ['deliveries', 'one', id],
    queryFn: ({ signal }) =>
      call<ConsoleGetDeliveryData, ConsoleGetDeliveryResponse>(
        'GET',
        '/console/api/webhooks/deliveries/{id}',
        { path: { id } },
        { signal },
      ),
    refetchInterval: ({ state }) => (state.data?.delivery.state === 'pending' ? 2000 : false),
  });
}

export function resendDelivery(id: string): Promise<ConsoleResendDeliveryResponse> {
  const url = '/console/api/webhooks/deliveries/{id}/resend';
  return call<ConsoleResendDeliveryData, ConsoleResendDeliveryResponse>('POST', url, { path: { id } });
}

export function testWebhook(body: ConsoleTestWebhookData['body']): Promise<ConsoleTestWebhookResponse> {
  return call<ConsoleTestWebhookData, ConsoleTestWebhookResponse>('POST', '/console/api/webhooks/test', { body });
}

/** the most of the contract */
const largestPage = 100;

const listLedger = (limit: number, cursor: number | undefined, extra: { signal?: AbortSignal; waitsForRateLimit?: boolean }): Promise<ConsoleListLedgerResponse> =>
  call<ConsoleListLedgerData, ConsoleListLedgerResponse>('GET', '/console/api/ledger', { query: { limit, ...startingAfter(cursor) } }, extra);

export function useLedger() {
  // Whoever wants more than the first ones wants many.
  return useList<LedgerEntry, number>(['ledger'], (cursor, signal) => listLedger(cursor === undefined ? 25 : largestPage, cursor, { signal }));
}

/** The whole ledger, newest first. A long one has more pages than the rate limit allows in a minute. */
export async function fetchLedger(): Promise<LedgerEntry[]> {
  const entries: LedgerEntry[] = [];
  for (let cursor: number | undefined; ; ) {
    const page = await listLedger(largestPage, cursor, { waitsForRateLimit: true });
    entries.push(...page.data);
    if (!page.has_more || page.next_cursor === null) return entries;
    cursor = page.next_cursor;
  }
}

export function useUsage(days: 30 | 90) {
  return useQuery({
    queryKey: ['usage', days],
    queryFn: ({ signal }) =>
      call<ConsoleGetUsageData, ConsoleGetUsageResponse>('GET', '/console/api/usage', { query: { days } }, { signal }),
  });
}

export function setRetention(days: number): Promise<ConsoleUpdateAccountResponse> {
  const body = { retention_days: days };
  return call<ConsoleUpdateAccountData, ConsoleUpdateAccountResponse>('PATCH', '/console/api/account', { body });
}

export function useAuditLog() {
  return useList<AuditEntry, number>(['audit'], (cursor, signal) => {
    const query = { limit: 25, ...startingAfter(cursor) };
    const url = '/console/api/audit-log';
    return call<ConsoleListAuditLogData, ConsoleListAuditLogResponse>('GET', url, { query }, { signal });
  });
}

export function exportAuditLog(): Promise<ConsoleExportAuditLogResponse> {
  const url = '/console/api/audit-log/export';
  return call<ConsoleExportAuditLogData, ConsoleExportAuditLogResponse>('GET', url, {});
}

/** The public keys, from the same URL that everyone else uses. */
export function fetchPublishedKeys(): Promise<Jwks> {
  return call<{ url: '/.well-known/jwks.json' }, Jwks>('GET', '/.well-known/jwks.json', {});
}

export function useCertificates() {
  return useList<ConsoleCertificate, string>(['certificates'], (cursor, signal) => {
    const query = { limit: 25, ...startingAfter(cursor) };
    const url = '/console/api/certificates';
    return call<ConsoleListCertificatesData, ConsoleListCertificatesResponse>('GET', url, { query }, { signal });
  });
}

/** The certificate of a deleted job; null until the storage has confirmed the deletion. */
export async function findCertificate(jobId: string): Promise<ConsoleCertificate | null> {
  const query = { job_id: jobId };
  const url = '/console/api/certificates';
  const page = await call<ConsoleListCertificatesData, ConsoleListCertificatesResponse>('GET', url, { query });
  return page.data[0] ?? null;
}

export function useSessions() {
  return useList<ConsoleSessionEntry, string>(['sessions'], (cursor, signal) => {
    const query = { limit: 20, ...startingAfter(cursor) };
    const url = '/console/api/sessions';
    return call<ConsoleListSessionsData, ConsoleListSessionsResponse>('GET', url, { query }, { signal });
  });
}

export function endSession(id: string): Promise<ConsoleEndSessionResponse> {
  return call<ConsoleEndSessionData, ConsoleEndSessionResponse>('DELETE', '/console/api/sessions/{id}', { path: { id } });
}

export function endOtherSessions(): Promise<ConsoleEndOtherSessionsResponse> {
  return call<ConsoleEndOtherSessionsData, ConsoleEndOtherSessionsResponse>('DELETE', '/console/api/sessions', {});
}
