/** API calls and queries of two-factor authentication. */
import { useQuery } from '@tanstack/react-query';
import type {
  ConsoleBeginTwoFactorData,
  ConsoleBeginTwoFactorResponse,
  ConsoleConfirmTwoFactorData,
  ConsoleConfirmTwoFactorResponse,
  ConsoleDisableTwoFactorData,
  ConsoleDisableTwoFactorResponse,
  ConsoleFullProof,
  ConsoleGetTwoFactorData,
  ConsoleGetTwoFactorResponse,
  ConsoleReplaceRecoveryCodesData,
  ConsoleReplaceRecoveryCodesResponse,
} from '../../contract/types.gen.ts';
import { call } from './client.ts';

export const twoFactorKey = ['two-factor'] as const;

export function useTwoFactor() {
  return useQuery({
    queryKey: twoFactorKey,
    queryFn: ({ signal }) => call<ConsoleGetTwoFactorData, ConsoleGetTwoFactorResponse>('GET', '/console/api/two-factor', {}, { signal }),
  });
}

export function beginTwoFactor(password: string): Promise<ConsoleBeginTwoFactorResponse> {
  return call<ConsoleBeginTwoFactorData, ConsoleBeginTwoFactorResponse>('POST', '/console/api/two-factor', { body: { password } });
}

export function confirmTwoFactor(code: string): Promise<ConsoleConfirmTwoFactorResponse> {
  const url = '/console/api/two-factor/confirmation';
  return call<ConsoleConfirmTwoFactorData, ConsoleConfirmTwoFactorResponse>('POST', url, { body: { code } });
}

export function replaceRecoveryCodes(body: ConsoleFullProof): Promise<ConsoleReplaceRecoveryCodesResponse> {
  const url = '/console/api/two-factor/recovery-codes';
  return call<ConsoleReplaceRecoveryCodesData, ConsoleReplaceRecoveryCodesResponse>('POST', url, { body });
}

export function disableTwoFactor(body: ConsoleFullProof): Promise<ConsoleDisableTwoFactorResponse> {
  const url = '/console/api/two-factor/removal';
  return call<ConsoleDisableTwoFactorData, ConsoleDisableTwoFactorResponse>('POST', url, { body });
}
