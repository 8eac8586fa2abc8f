/** The API with the console over a real database, and browsers that sign in to it. */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import postgres from 'postgres';
import type { ConsoleSession } from '../../src/contract/types.gen.ts';
import { newId } from '../../src/domain/ids.ts';
import { generateLinkToken, hashLinkToken } from '../../src/domain/one-time-link.ts';
import type { Role } from '../../src/domain/roles.ts';
import type { Passwords } from '../../src/domain/passwords.ts';
import { createSecretCipher } from '../../src/domain/secret-cipher.ts';
import { createEvidence } from '../../src/evidence/index.ts';
import { buildApp } from '../../src/http/app.ts';
import type { ConsoleDeps } from '../../src/http/deps.ts';
import type { HttpDeps } from '../../src/http/deps.ts';
import { createStore, type Store } from '../../src/store/index.ts';
import { createTestDatabase } from './database.ts';
import { fakeStorage, pepper, publicUrl, source } from './http.ts';
import { checkResponse, descriptionText } from './http-contract.ts';

/** A fast hash in place of Argon2, which has its own tests. */
export const quickPasswords: Passwords = {
  hash: async (password) => `$argon2id$quick$${createHash('sha256').update(password).digest('hex')}`,
  async verify(password, stored) {
    return stored !== null && stored === (await this.hash(password));
  },
};

export interface ConsoleOptions extends Partial<Pick<HttpDeps, 'measure' | 'options'>> {
  console?: Partial<ConsoleDeps>;
}

export interface BrowserRequest {
  method?: string;
  headers?: Record<string, string>;
  json?: unknown;
  body?: string | Uint8Array;
  /** false: sends no CSRF token */
  csrf?: boolean;
}

/** Wraps a store: every call throws `failure` while it is set. */
function breakable(store: Store, state: { failure: Error | undefined }): Store {
  const guard = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(object, name) {
        const value: unknown = Reflect.get(object, name);
        if (typeof value === 'function') {
          return (...parameters: unknown[]) => {
            if (state.failure !== undefined) throw state.failure;
            return Reflect.apply(value, object, parameters) as unknown;
          };
        }
        return typeof value === 'object' && value !== null ? guard(value) : value;
      },
    });
  return guard(store);
}

export async function makeConsole(options: ConsoleOptions = {}) {
  const database = await createTestDatabase();
  const cipher = createSecretCipher(pepper);
  const real = createStore({ url: database.url, cipher, maxConnections: 4 });
  const sql = postgres(database.url, { max: 2, onnotice: () => {} });
  const state: { failure: Error | undefined } = { failure: undefined };
  const store = breakable(real, state);
  const pageDir = mkdtempSync(join(tmpdir(), 'reelmend-page-'));
  const objects = new Map<string, Buffer>();
  const storage = fakeStorage(objects);
  const logged: { level: string; facts: object; message: string }[] = [];
  const log = (level: string) => (facts: object, message: string) => void logged.push({ level, facts, message });
  const logger = { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') };
  const deps: HttpDeps = {
    store,
    storage,
    checkUrl: () => {},
    measure: options.measure ?? (async () => source),
    evidence: createEvidence({ keys: real.signingKeys, cipher }),
    keyPepper: pepper,
    publicUrl: () => publicUrl,
    description: descriptionText,
    logger,
    // All requests of a test file come from one IP address.
    options: { certificateWaitMs: 50, rateLimits: { auth: 1000 }, ...options.options },
    console: {
      store,
      passwords: quickPasswords,
      pageDir,
      secureCookies: false,
      origins: [],
      mediaOrigins: [],
      sampleUrl: null,
      signUp: 'open',
      proxyHops: 0,
      ...options.console,
    },
  };
  const app = buildApp(deps);
  const close = async () => {
    rmSync(pageDir, { recursive: true, force: true });
    await sql.end({ timeout: 5 });
    await real.close();
    await database.drop();
  };
  const world = { app, deps, store: real, sql, state, storage, objects, logged, logger, url: database.url, close };
  return { ...world, browser: () => makeBrowser(app), person: (more: PersonOptions = {}) => person(world, more), member: (of: Person, role: Role = 'member') => member(world, of, role) };
}

export type ConsoleWorld = Awaited<ReturnType<typeof makeConsole>>;

/** Makes a client that keeps the cookie and the CSRF token, as the page does. */
export function makeBrowser(app: ReturnType<typeof buildApp>) {
  const browser = {
    cookie: undefined as string | undefined,
    cookieName: 'reelmend_session',
    csrf: undefined as string | undefined,
    async request(path: string, { method = 'GET', headers = {}, json, body, csrf = true }: BrowserRequest = {}) {
      const all = new Headers(headers);
      if (browser.cookie !== undefined && !all.has('Cookie')) all.set('Cookie', `${browser.cookieName}=${browser.cookie}`);
      if (csrf && browser.csrf !== undefined && method !== 'GET' && !all.has('X-CSRF-Token')) {
        all.set('X-CSRF-Token', browser.csrf);
      }
      if (json !== undefined && !all.has('Content-Type')) all.set('Content-Type', 'application/json');
      const payload = json === undefined ? body : JSON.stringify(json);
      const response = await app.request(path, {
        method,
        headers: all,
        ...(payload === undefined ? {} : { body: payload }),
      } as RequestInit);
      await checkResponse(method, new URL(path, 'http://localhost').pathname, response);
      const [, name, cookie] = /^((?:__Host-)?reelmend_session)=([^;]*)/.exec(response.headers.get('set-cookie') ?? '') ?? [];
      if (name !== undefined) Object.assign(browser, { cookieName: name, cookie: cookie === '' ? undefined : cookie });
      return response;
    },
    /** Sends a request that must succeed; returns the body of its response. */
    async call<T>(path: string, options: BrowserRequest = {}): Promise<T> {
      const response = await browser.request(path, options);
      if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
      return (await response.json()) as T;
    },
    post: <T>(path: string, json?: unknown) =>
      browser.call<T>(path, { method: 'POST', ...(json === undefined ? {} : { json }) }),
    async signIn(email: string, password: string): Promise<ConsoleSession> {
      const session = await browser.post<ConsoleSession>('/console/api/sign-in', { email, password });
      browser.csrf = session.csrf_token;
      return session;
    },
  };
  return browser;
}

export type Browser = ReturnType<typeof makeBrowser>;

interface PersonOptions {
  operator?: boolean;
  approved?: boolean;
  credits?: number;
}

/** A person who has signed up and signed in. */
async function person(
  { app, store }: { app: ReturnType<typeof buildApp>; store: Store },
  { operator = false, approved = true, credits = 0 }: PersonOptions,
) {
  const email = `${newId('user')}@example.com`;
  const password = 'correct horse battery';
  const browser = makeBrowser(app);
  await browser.post('/console/api/sign-up', { email, password });
  if (operator) await store.users.setOperator(email, true);
  const user = (await store.users.byEmail(email))!;
  if (approved) await store.accounts.approve(user.accountId);
  if (credits > 0) await store.accounts.grant(user.accountId, credits);
  const session = await browser.signIn(email, password);
  return { browser, session, email, password, userId: user.id, accountId: user.accountId };
}

/** A person who has accepted an invitation to the account and signed in. */
async function member({ app, store }: { app: ReturnType<typeof buildApp>; store: Store }, { accountId, userId: createdBy, password }: Person, role: Role) {
  const email = `${newId('user')}@example.com`;
  const token = generateLinkToken();
  await store.people.invite({ accountId, email, role, tokenHash: hashLinkToken('invitation', token, pepper), createdBy });
  const browser = makeBrowser(app);
  await browser.post('/console/api/invitation-acceptance', { token, password });
  const session = await browser.signIn(email, password);
  return { browser, session, email, password, userId: session.user.id, accountId };
}

export type Person = Awaited<ReturnType<typeof person>>;
