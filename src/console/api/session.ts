/** The session of the signed-in user: one query that all other parts read. */
import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { createContext, useContext } from 'react';
import type {
  ConsoleChangePasswordData,
  ConsoleChangePasswordResponse,
  ConsoleGetSessionData,
  ConsoleGetSessionResponse,
  ConsoleSession,
  ConsoleSignInData,
  ConsoleSignInResponse,
  ConsoleSignOutData,
  ConsoleSignOutResponse,
  ConsoleSignUpData,
  ConsoleSignUpResponse,
  ConsoleUsePasswordLinkData,
  ConsoleUsePasswordLinkResponse,
} from '../../contract/types.gen.ts';
import { ApiError, call, setCsrfToken } from './client.ts';

export const sessionKey = ['session'] as const;

/** null: no user is signed in */
export function useSessionQuery() {
  return useQuery({
    queryKey: sessionKey,
    queryFn: async ({ signal }): Promise<ConsoleSession | null> => {
      try {
        const session = await call<ConsoleGetSessionData, ConsoleGetSessionResponse>(
          'GET',
          '/console/api/session',
          {},
          { signal, ownRefusals: true },
        );
        setCsrfToken(session.csrf_token);
        return session;
      } catch (error) {
        if (error instanceof ApiError && error.status === 401) return null;
        throw error;
      }
    },
    staleTime: 30_000,
  });
}

export const SessionContext = createContext<ConsoleSession | null>(null);

/** The session, for pages that only signed-in users see. */
export function useSession(): ConsoleSession {
  const session = useContext(SessionContext);
  if (session === null) throw new Error('there is no session here');
  return session;
}

/** Whether the user may change more than jobs. The service decides; pages only hide what it would refuse. */
export const useIsAdmin = (): boolean => useSession().user.role === 'admin';

/** Removes the data of the previous user. The session query is observed, so it is replaced and not removed. */
function forgetOthers(client: QueryClient): void {
  client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionKey[0] });
}

export function useSignIn() {
  const client = useQueryClient();
  return async (body: ConsoleSignInData['body']): Promise<void> => {
    const session = await call<ConsoleSignInData, ConsoleSignInResponse>(
      'POST',
      '/console/api/sign-in',
      { body },
      { ownRefusals: true },
    );
    forgetOthers(client);
    setCsrfToken(session.csrf_token);
    client.setQueryData(sessionKey, session);
  };
}

export function signUp(body: ConsoleSignUpData['body']): Promise<ConsoleSignUpResponse> {
  return call<ConsoleSignUpData, ConsoleSignUpResponse>('POST', '/console/api/sign-up', { body }, { ownRefusals: true });
}

export function useSignOut() {
  const client = useQueryClient();
  return async (): Promise<void> => {
    await call<ConsoleSignOutData, ConsoleSignOutResponse>('POST', '/console/api/sign-out', {});
    setCsrfToken(null);
    client.setQueryData(sessionKey, null);
    forgetOthers(client);
  };
}

export function setPasswordByLink(body: ConsoleUsePasswordLinkData['body']): Promise<ConsoleUsePasswordLinkResponse> {
  return call<ConsoleUsePasswordLinkData, ConsoleUsePasswordLinkResponse>('POST', '/console/api/password-link', { body }, { ownRefusals: true });
}

export function changePassword(body: ConsoleChangePasswordData['body']): Promise<ConsoleChangePasswordResponse> {
  return call<ConsoleChangePasswordData, ConsoleChangePasswordResponse>('POST', '/console/api/password', { body });
}
