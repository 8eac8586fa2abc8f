/** The session of the signed-in user: one query that all other parts read. */
import { type QueryClient, type QueryFunctionContext, skipToken, useQuery, useQueryClient } from '@tanstack/react-query';
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
import { ApiError, call, setCsrfToken, whenSessionDoubted, whenSessionReplaced } from './client.ts';

export const sessionKey = ['session'] as const;

/** null: no user is signed in */
const sessionQuery = {
  queryKey: sessionKey,
  queryFn: async ({ client, signal }: QueryFunctionContext): Promise<ConsoleSession | null> => {
    const session = await getSession(signal);
    setCsrfToken(session?.csrf_token ?? null);
    if (session !== null) adopt(client, session);
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

const pageKey = ['page-session'] as const;

/** What is shown to a user. */
interface OpenPage {
  /** differs for a page that shows nothing of an earlier one */
  id: string;
  /** the page's session, also after it has ended */
  session: ConsoleSession;
}

/** null before signing in, and after signing out */
const openPage = (client: QueryClient): OpenPage | null => client.getQueryData<OpenPage | null>(pageKey) ?? null;

export function useOpenPage(): OpenPage | null {
  return useQuery<OpenPage | null>({ queryKey: pageKey, queryFn: skipToken, gcTime: Infinity }).data ?? null;
}

/** Returns a function that says whether the session has ended and the page waits for its user to sign in again. */
export function useWaitsForSignIn(): () => boolean {
  const client = useQueryClient();
  return () => client.getQueryData(sessionKey) === null && openPage(client) !== null;
}

let pageEnd = new AbortController();

/** Aborted when the page goes for good: its user has signed out, or another one has signed in after the session ended. */
export const endOfPage = (): AbortSignal => pageEnd.signal;

function endPage(): void {
  pageEnd.abort();
  pageEnd = new AbortController();
}

/** The page and its data stay with the user who has signed in again, and go if another one has, perhaps in another window. */
function adopt(client: QueryClient, session: ConsoleSession): void {
  const before = openPage(client);
  const hadEnded = client.getQueryData(sessionKey) === null;
  const isOther = before !== null && before.session.user.id !== session.user.id;
  if (isOther) void client.resetQueries({ predicate: isOfUser });
  // The event stream loads the jobs again, of long lists only what is shown.
  else if (hadEnded) void client.invalidateQueries({ predicate: (query) => isOfUser(query) && query.queryKey[0] !== 'jobs' });
  // The page stays if the user is another one all at once: it has to say what became of the last request.
  const isNew = before === null || (isOther && hadEnded);
  if (isNew) endPage();
  const id = isNew ? session.csrf_token : before.id;
  client.setQueryData<OpenPage>(pageKey, { id, session });
}

const channelName = 'reelmend-session';
const signedOut = 'signed out';
let otherWindows: BroadcastChannel | null = null;

/** Keeps the session of this window that of the browser: windows share the cookie, and any of them may sign in or out. */
export function followSession(client: QueryClient): void {
  const refetch = () => client.refetchQueries({ queryKey: sessionKey }, { cancelRefetch: false });
  whenSessionDoubted(() => void refetch());
  whenSessionReplaced(async () => {
    const before = client.getQueryData<ConsoleSession | null>(sessionKey);
    const session = await client.fetchQuery({ ...sessionQuery, staleTime: 0 });
    return session !== null && session.user.id === before?.user.id;
  });
  otherWindows = new BroadcastChannel(channelName);
  otherWindows.onmessage = ({ data }: MessageEvent<string>) =>
    void refetch().then(() => {
      // Unlike a session that has ended by itself.
      if (data === signedOut && client.getQueryData(sessionKey) === null) forget(client);
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

/** The queries of the session are observed, so they are replaced and not removed. */
const isOfUser = ({ queryKey }: { queryKey: readonly unknown[] }): boolean => queryKey[0] !== sessionKey[0] && queryKey[0] !== pageKey[0];

/** Drops the page and all data of the user who has signed out. */
function forget(client: QueryClient): void {
  endPage();
  client.setQueryData(pageKey, null);
  client.removeQueries({ predicate: isOfUser });
}

/** A pending answer about the session may be older than the one that begins or ends now. */
const ignorePending = (client: QueryClient): Promise<void> => client.cancelQueries({ queryKey: sessionKey });

export function useSignIn() {
  const client = useQueryClient();
  return async (body: ConsoleSignInData['body']): Promise<void> => {
    const session = await call<ConsoleSignInData, ConsoleSignInResponse>(
      'POST',
      '/console/api/sign-in',
      { body },
      { ownRefusals: true },
    );
    await ignorePending(client);
    setCsrfToken(session.csrf_token);
    adopt(client, session);
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
    await call<ConsoleSignOutData, ConsoleSignOutResponse>('POST', '/console/api/sign-out', {}, { ownRefusals: true }).catch((error: unknown) => {
      // The session had ended already.
      if (!(error instanceof ApiError && error.status === 401)) throw error;
    });
    await ignorePending(client);
    setCsrfToken(null);
    client.setQueryData(sessionKey, null);
    forget(client);
    otherWindows?.postMessage(signedOut);
  };
}

export function setPasswordByLink(body: ConsoleUsePasswordLinkData['body']): Promise<ConsoleUsePasswordLinkResponse> {
  return call<ConsoleUsePasswordLinkData, ConsoleUsePasswordLinkResponse>('POST', '/console/api/password-link', { body }, { ownRefusals: true });
}

export function changePassword(body: ConsoleChangePasswordData['body']): Promise<ConsoleChangePasswordResponse> {
  return call<ConsoleChangePasswordData, ConsoleChangePasswordResponse>('POST', '/console/api/password', { body });
}
