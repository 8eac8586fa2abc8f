/** API calls and queries of the operator pages. */
import { useQuery } from '@tanstack/react-query';
import type {
  OperatorAccount,
  OperatorChangeRoleData,
  OperatorChangeRoleResponse,
  OperatorCloseAccountData,
  OperatorCloseAccountResponse,
  OperatorCreatePasswordLinkData,
  OperatorCreatePasswordLinkResponse,
  OperatorDecideData,
  OperatorDecideResponse,
  OperatorFailure,
  OperatorGetHistoryData,
  OperatorGetHistoryResponse,
  OperatorGetOverviewData,
  OperatorGetOverviewResponse,
  OperatorGrantData,
  OperatorGrantResponse,
  OperatorHistory,
  OperatorListAccountsData,
  OperatorListAccountsResponse,
  OperatorListFailuresData,
  OperatorListFailuresResponse,
  OperatorListWorkersData,
  OperatorListWorkersResponse,
  OperatorPasswordLink,
  OperatorRemovePersonData,
  OperatorRemovePersonResponse,
  OperatorResetTwoFactorData,
  OperatorResetTwoFactorResponse,
  OperatorSetPlanData,
  OperatorSetPlanResponse,
  OperatorSetQuotasData,
  OperatorSetQuotasResponse,
  OperatorWithdrawData,
  OperatorWithdrawResponse,
  OperatorWorker,
  Role,
} from '../../contract/types.gen.ts';
import { call, startingAfter } from './client.ts';
import { useList } from './lists.ts';

const liveMs = 4000;
const historyMs = 60_000;

export function useOverview(enabled = true) {
  return useQuery({
    queryKey: ['operator', 'overview'],
    queryFn: ({ signal }) =>
      call<OperatorGetOverviewData, OperatorGetOverviewResponse>('GET', '/console/api/operator/overview', {}, { signal }),
    refetchInterval: liveMs,
    enabled,
  });
}

export type Period = OperatorHistory['period'];

export function useHistory(period: Period) {
  return useQuery({
    queryKey: ['operator', 'history', period],
    queryFn: ({ signal }) =>
      call<OperatorGetHistoryData, OperatorGetHistoryResponse>('GET', '/console/api/operator/history', { query: { period } }, { signal }),
    refetchInterval: historyMs,
  });
}

export type ApprovalState = OperatorAccount['approval_status'];

export interface AccountFilters {
  state?: ApprovalState;
  /** part of the name or of a person's email, or the beginning of the id */
  q?: string;
}

export function useAccounts(filters: AccountFilters) {
  return useList<OperatorAccount, string>(
    ['operator', 'accounts', filters],
    (cursor, signal) => {
      const query = { limit: 50, ...filters, ...startingAfter(cursor) };
      const url = '/console/api/operator/accounts';
      return call<OperatorListAccountsData, OperatorListAccountsResponse>('GET', url, { query }, { signal });
    },
    { intervalMs: liveMs },
  );
}

export function decide(id: string, decision: 'approved' | 'rejected'): Promise<OperatorDecideResponse> {
  const url = '/console/api/operator/accounts/{id}/decision';
  return call<OperatorDecideData, OperatorDecideResponse>('POST', url, { path: { id }, body: { decision } });
}

export function grant(id: string, body: OperatorGrantData['body'], idempotencyKey: string): Promise<OperatorGrantResponse> {
  const url = '/console/api/operator/accounts/{id}/grants';
  return call<OperatorGrantData, OperatorGrantResponse>('POST', url, { path: { id }, body }, { idempotencyKey });
}

export function withdraw(id: string, body: OperatorWithdrawData['body'], idempotencyKey: string): Promise<OperatorWithdrawResponse> {
  const url = '/console/api/operator/accounts/{id}/withdrawals';
  return call<OperatorWithdrawData, OperatorWithdrawResponse>('POST', url, { path: { id }, body }, { idempotencyKey });
}

export function setPlan(id: string, plan: string): Promise<OperatorSetPlanResponse> {
  const url = '/console/api/operator/accounts/{id}/plan';
  return call<OperatorSetPlanData, OperatorSetPlanResponse>('POST', url, { path: { id }, body: { plan } });
}

export function setQuotas(id: string, body: OperatorSetQuotasData['body']): Promise<OperatorSetQuotasResponse> {
  const url = '/console/api/operator/accounts/{id}/quotas';
  return call<OperatorSetQuotasData, OperatorSetQuotasResponse>('POST', url, { path: { id }, body });
}

export function closeAccount(id: string, name: string): Promise<OperatorCloseAccountResponse> {
  const url = '/console/api/operator/accounts/{id}/closure';
  return call<OperatorCloseAccountData, OperatorCloseAccountResponse>('POST', url, { path: { id }, body: { name } });
}

export function changeRole(userId: string, role: Role): Promise<OperatorChangeRoleResponse> {
  const url = '/console/api/operator/people/{id}';
  return call<OperatorChangeRoleData, OperatorChangeRoleResponse>('PATCH', url, { path: { id: userId }, body: { role } });
}

export function removePerson(userId: string): Promise<OperatorRemovePersonResponse> {
  const url = '/console/api/operator/people/{id}';
  return call<OperatorRemovePersonData, OperatorRemovePersonResponse>('DELETE', url, { path: { id: userId } });
}

export function createPasswordLink(userId: string): Promise<OperatorPasswordLink> {
  const url = '/console/api/operator/people/{id}/password-link';
  return call<OperatorCreatePasswordLinkData, OperatorCreatePasswordLinkResponse>('POST', url, { path: { id: userId } });
}

export function resetTwoFactor(userId: string): Promise<OperatorResetTwoFactorResponse> {
  const url = '/console/api/operator/people/{id}/two-factor-reset';
  return call<OperatorResetTwoFactorData, OperatorResetTwoFactorResponse>('POST', url, { path: { id: userId } });
}

export function useWorkers() {
  return useList<OperatorWorker, string>(
    ['operator', 'workers'],
    (cursor, signal) => {
      const query = { limit: 50, ...startingAfter(cursor) };
      const url = '/console/api/operator/workers';
      return call<OperatorListWorkersData, OperatorListWorkersResponse>('GET', url, { query }, { signal });
    },
    { intervalMs: liveMs },
  );
}

export function useFailures() {
  return useList<OperatorFailure, string>(
    ['operator', 'failures'],
    (cursor, signal) => {
      const query = { limit: 25, ...startingAfter(cursor) };
      const url = '/console/api/operator/failures';
      return call<OperatorListFailuresData, OperatorListFailuresResponse>('GET', url, { query }, { signal });
    },
    { intervalMs: liveMs },
  );
}
