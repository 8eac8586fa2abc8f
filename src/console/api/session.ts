/** Who is signed in. The session is one query that everything else reads. */
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
} from '../../contract/types.gen.ts';
import { ApiError, call, setCsrfToken } from './client.ts';

export const sessionKey = ['session'] as const;

/** null: nobody is signed in */
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

/** The session, on pages that are shown to signed-in people only. */
export function useSession(): ConsoleSession {
  const session = useContext(SessionContext);
  if (session === null) throw new Error('there is no session here');
  return session;
}

/** Nothing of one person stays for the next. The session's own query is watched and is only set. */
function forgetOthers(client: QueryClient): void {
  client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionKey[0] });
}

export function useSignIn() {
  const client = useQueryClient();
  return async (email: string, password: string): Promise<void> => {
    const session = await call<ConsoleSignInData, ConsoleSignInResponse>(
      'POST',
      '/console/api/sign-in',
      { body: { email, password } },
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

export function changePassword(body: ConsoleChangePasswordData['body']): Promise<ConsoleChangePasswordResponse> {
  return call<ConsoleChangePasswordData, ConsoleChangePasswordResponse>('POST', '/console/api/password', { body });
}
