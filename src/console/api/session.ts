/** The session of the signed-in user: one query that all other parts read. */
import { type QueryClient, type QueryFunctionContext, useQuery, useQueryClient } from '@tanstack/react-query';
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
import { ApiError, call, setCsrfToken, whenSessionReplaced, whenSignedOut } from './client.ts';

export const sessionKey = ['session'] as const;

/** null: no user is signed in */
const sessionQuery = {
  queryKey: sessionKey,
  queryFn: async ({ client, signal }: QueryFunctionContext): Promise<ConsoleSession | null> => {
    const before = client.getQueryData<ConsoleSession | null>(sessionKey);
    const session = await getSession(signal);
    setCsrfToken(session?.csrf_token ?? null);
    // Another window may have signed in as somebody else.
    if (before !== undefined && session !== null && before?.user.id !== session.user.id) void client.resetQueries({ predicate: isOfUser });
    return session;
  },
};

async function getSession(signal: AbortSignal): Promise<ConsoleSession | null> {
  const extra = { signal, ownRefusals: true };
  try {
    return await call<ConsoleGetSessionData, ConsoleGetSessionResponse>('GET', '/console/api/session', {}, extra);
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return null;
    throw error;
  }
}

export function useSessionQuery() {
  return useQuery({ ...sessionQuery, staleTime: 30_000 });
}

const channelName = 'reelmend-session';
let otherWindows: BroadcastChannel | null = null;

/** Keeps the session of this window that of the browser: windows share the cookie, and any of them may sign in or out. */
export function followSession(client: QueryClient): void {
  const refetch = () => client.refetchQueries({ queryKey: sessionKey }, { cancelRefetch: false });
  whenSignedOut(() => void refetch());
  whenSessionReplaced(async () => {
    const before = client.getQueryData<ConsoleSession | null>(sessionKey);
    const session = await client.fetchQuery({ ...sessionQuery, staleTime: 0 });
    return session !== null && session.user.id === before?.user.id;
  });
  otherWindows = new BroadcastChannel(channelName);
  otherWindows.onmessage = () => void refetch();
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

/** The session query is observed, so it is replaced and not removed. */
const isOfUser = ({ queryKey }: { queryKey: readonly unknown[] }): boolean => queryKey[0] !== sessionKey[0];

/** Removes the data of the previous user. */
function forgetOthers(client: QueryClient): void {
  client.removeQueries({ predicate: isOfUser });
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
    otherWindows?.postMessage('signed in');
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
    otherWindows?.postMessage('signed out');
  };
}

export function setPasswordByLink(body: ConsoleUsePasswordLinkData['body']): Promise<ConsoleUsePasswordLinkResponse> {
  return call<ConsoleUsePasswordLinkData, ConsoleUsePasswordLinkResponse>('POST', '/console/api/password-link', { body }, { ownRefusals: true });
}

export function changePassword(body: ConsoleChangePasswordData['body']): Promise<ConsoleChangePasswordResponse> {
  return call<ConsoleChangePasswordData, ConsoleChangePasswordResponse>('POST', '/console/api/password', { body });
}
