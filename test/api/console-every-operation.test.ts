/** What every operation of the console answers alike: who may call it, pace, bodies, and failures of the service. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { buildApp } from '../../src/http/app.ts';
import { newId } from '../../src/domain/ids.ts';
import { type Permission, permissions } from '../../src/http/console/permissions.ts';
import { type Browser, type BrowserRequest, type ConsoleWorld, makeBrowser, makeConsole, type Person } from '../helpers/console.ts';
import { errorOf, refusedBodies } from '../helpers/http.ts';
import { routes } from '../../src/contract/routes.gen.ts';
import type { ConsoleOperationId } from '../../src/http/register.ts';
import { operations, type Operation } from '../helpers/http-contract.ts';

const job = { video_url: 'https://media.example.com/a.mp4', resolution: '1080p' };
const bodies: Readonly<Record<string, unknown>> = {
  consoleSignUp: { email: 'dev@example.com', password: 'correct horse battery' },
  consoleSignIn: { email: 'dev@example.com', password: 'correct horse battery' },
  consoleChangePassword: { current_password: 'correct horse battery', new_password: 'a better horse battery' },
  consoleUsePasswordLink: { token: 'A'.repeat(43), new_password: 'a better horse battery' },
  consoleBeginTwoFactor: { password: 'correct horse battery' },
  consoleConfirmTwoFactor: { code: '000000' },
  consoleReplaceRecoveryCodes: { password: 'correct horse battery', code: '000000' },
  consoleDisableTwoFactor: { password: 'correct horse battery', code: '000000' },
  consoleChangeRole: { role: 'member' },
  consoleInvite: { email: 'guest@example.com', role: 'member' },
  consoleGetInvitation: { token: 'A'.repeat(43) },
  consoleAcceptInvitation: { token: 'A'.repeat(43), password: 'a better horse battery' },
  consoleUpdateAccount: { retention_days: 7 },
  consoleCreateKey: { mode: 'test', tier: 'standard' },
  consoleRenameKey: { name: 'website' },
  consoleRotateKey: { overlap_days: 1 },
  consoleCreateJob: { mode: 'test', request: job },
  consoleCreateQuote: { mode: 'test', request: job },
  consoleCreatePreview: { mode: 'test', request: { video_url: job.video_url, settings: [{ resolution: '1080p' }] } },
  consoleCreateUpload: { mode: 'test', request: { file_name: 'a.mov', size_bytes: 5 } },
  consoleCompleteUpload: { sha256: '0'.repeat(64) },
  consoleTestWebhook: { url: 'https://hooks.example.com/', event: 'job.completed' },
  consoleCreateWebhookEndpoint: { mode: 'test', request: { url: 'https://hooks.example.com/' } },
  consoleUpdateWebhookEndpoint: { enabled: false },
  consoleTestWebhookEndpoint: { event: 'job.completed' },
  operatorDecide: { decision: 'approved' },
  operatorGrant: { credits: 1 },
  operatorWithdraw: { credits: 1 },
  operatorSetPlan: { plan: 'studio' },
  operatorSetQuotas: { jobs_per_day: 500 },
  operatorCloseAccount: { name: 'Nobody' },
  operatorChangeRole: { role: 'member' },
};
const all = operations.filter(({ path }) => path.startsWith('/console/'));
const allowed = (permission: Permission) => Object.entries(permissions).filter(([, its]) => its === permission).map(([id]) => id);
const open = new Set(allowed('anyone'));
const secured = all.filter(({ id }) => !open.has(id));
const changing = secured.filter(({ method }) => method !== 'get');
const forOperators = all.filter(({ id }) => id.startsWith('operator'));
const withJson = all.filter(({ id }) => id in bodies);
const withId = all.filter(({ path }) => path.includes('{id}'));

/** Prefix of the id that an operation's path takes, by a part of the path. */
const kinds = [
  ['/keys/', 'key'],
  ['/sessions/', 'sess'],
  ['/people/', 'user'],
  ['/invitations/', 'inv'],
  ['/deliveries/', 'evt'],
  ['/accounts/', 'acct'],
  ['/uploads/', 'upl'],
  ['/webhook-endpoints/', 'hook'],
  ['/previews/', 'prv'],
] as const;
const kindOf = ({ path }: Operation) => kinds.find(([part]) => path.includes(part))?.[1] ?? 'job';

let world: ConsoleWorld;
let operator: Person;
let plain: Person;
/** of the account of `plain` */
let member: Person;
/** every call of it is over its quota */
let limited: Browser;

beforeAll(async () => {
  world = await makeConsole();
  operator = await world.person({ operator: true });
  plain = await world.person();
  member = await world.member(plain);
  const take = async () => ({ allowed: false, remaining: 0, resetS: 59, retryAfterS: 1.2 });
  const app = buildApp({ ...world.deps, store: { ...world.store, rateLimits: { ...world.store.rateLimits, take } } });
  limited = Object.assign(makeBrowser(app), { cookie: operator.browser.cookie, csrf: operator.browser.csrf });
});
beforeEach(async () => {
  world.state.failure = undefined;
  // One person makes more calls here than a minute allows.
  await world.sql`DELETE FROM rate_limits`;
});
afterAll(() => world.close());

function send(browser: Browser, operation: Operation, options: BrowserRequest & { id?: string } = {}) {
  const { id = newId(kindOf(operation)), ...rest } = options;
  const target = operation.path.replace('{id}', id);
  const json = operation.id in bodies && options.body === undefined ? { json: bodies[operation.id] } : {};
  return browser.request(target, { method: operation.method.toUpperCase(), ...json, ...rest });
}

describe('operations with a body are the ones the document gives one', () => {
  it('so that none is forgotten here', () => {
    const documented = all.filter(({ statuses }) => statuses.includes('415')).map(({ id }) => id);
    expect(withJson.map(({ id }) => id).sort()).toEqual(documented.sort());
  });
});

describe.each(secured)('$id', (operation) => {
  it('401 missing_session without a session, also with an API key', async () => {
    for (const headers of [{}, { Authorization: 'Bearer svc_live_x' }] as Record<string, string>[]) {
      const response = await send(world.browser(), operation, { headers });
      expect(response.status).toBe(401);
      expect((await errorOf(response)).code).toBe('missing_session');
      expect(response.headers.get('WWW-Authenticate')).toMatch(/^Cookie /);
    }
  });

  it('401 invalid_session for a token that is none, or of nobody', async () => {
    for (const cookie of ['', 'x', 'A'.repeat(43), `${operator.browser.cookie!.slice(0, 42)}!`]) {
      const response = await send(world.browser(), operation, { headers: { Cookie: `reelmend_session=${cookie}` } });
      expect(response.status).toBe(401);
      expect((await errorOf(response)).code).toBe('invalid_session');
    }
  });

  it('says what is left of the quota of the user', async () => {
    const response = await send(operator.browser, operation, { csrf: false, headers: { 'Sec-Fetch-Site': 'cross-site' } });
    const name = ['consoleCreateJob', 'consoleCreatePreview'].includes(operation.id) ? 'create' : operation.method === 'get' ? 'read' : 'other';
    expect(response.headers.get('RateLimit-Policy')).toBe(`"${name}";q=${{ create: 120, read: 600, other: 240 }[name]};w=60`);
    await response.body?.cancel();
  });
});

describe.each(changing)('$id', (operation) => {
  it('403 csrf_token_invalid without the token, with a wrong one, and with that of another session', async () => {
    const tokens = [undefined, '', 'x', plain.browser.csrf!, `${operator.browser.csrf!}x`];
    for (const token of tokens) {
      const headers: Record<string, string> = token === undefined ? {} : { 'X-CSRF-Token': token };
      const response = await send(operator.browser, operation, { csrf: false, headers });
      expect(response.status, token).toBe(403);
      expect((await errorOf(response)).code).toBe('csrf_token_invalid');
    }
  });

  it('403 cross_site_request from another site, whatever it knows', async () => {
    for (const headers of foreign) {
      const response = await send(operator.browser, operation, { headers });
      expect(response.status).toBe(403);
      expect((await errorOf(response)).code).toBe('cross_site_request');
    }
  });
});

const foreign: Record<string, string>[] = [
  { 'Sec-Fetch-Site': 'cross-site' },
  { 'Sec-Fetch-Site': 'same-site' },
  { Origin: 'https://evil.example' },
  { Origin: 'null' },
  { Origin: 'http://localhost:81' },
];

describe.each(all.filter(({ id }) => open.has(id)))('$id', (operation) => {
  it('403 cross_site_request from another site: nobody is signed in unawares', async () => {
    for (const headers of foreign) {
      const response = await send(world.browser(), operation, { headers });
      expect(response.status).toBe(403);
      expect((await errorOf(response)).code).toBe('cross_site_request');
    }
  });

  it('takes what the page itself sends', async () => {
    const headers = { 'Sec-Fetch-Site': 'same-origin', Origin: 'http://localhost' };
    const response = await send(world.browser(), operation, { headers });
    expect(await response.text()).not.toContain('cross_site_request');
  });
});

describe.each(forOperators)('$id', (operation) => {
  it('403 operator_required for everybody else', async () => {
    const response = await send(plain.browser, operation, { id: plain.accountId });
    expect(response.status).toBe(403);
    expect((await errorOf(response)).code).toBe('operator_required');
    expect((await world.store.accounts.get(plain.accountId))!.credits).toBe(0);
  });
});

describe('the table of permissions', () => {
  it('opens without a session what the document does, and gives operators what is named after them', () => {
    const anonymous = Object.values(routes).filter(({ path, security }) => path.startsWith('/console/') && security.length === 0);
    expect([...open].toSorted()).toEqual(anonymous.map(({ operationId }) => operationId).toSorted());
    expect(allowed('operator').toSorted()).toEqual(forOperators.map(({ id }) => id).toSorted());
  });

  it('lets members change their own session and factors, jobs, previews and uploads, and nothing else', () => {
    const changes = changing.filter(({ id }) => permissions[id as ConsoleOperationId] === 'member').map(({ path }) => path);
    const own = /^\/console\/api\/(sign-out|password|sessions|two-factor|jobs|quotes|previews|uploads)(\/|$)/;
    expect(changes.filter((path) => !own.test(path))).toEqual([]);
  });
});

const refusals: Partial<Record<Permission, string>> = { admin: 'admin_required', operator: 'operator_required' };
// Signing out would end the session that the others need.
const withRole = secured.filter(({ id }) => id !== 'consoleSignOut').map((operation) => ({ operation, ...operation, permission: permissions[operation.id as ConsoleOperationId] }));

describe.each(withRole)('$id for a member of the account ($permission)', ({ operation, permission }) => {
  it(permission === 'member' ? 'is open' : 'is refused, with 403', async () => {
    const response = await send(member.browser, operation);
    const refusal = refusals[permission];
    if (refusal !== undefined) return expect([response.status, (await errorOf(response)).code]).toEqual([403, refusal]);
    // The stream of events does not end.
    if (response.ok) return response.body?.cancel();
    expect(await response.text()).not.toMatch(/admin_required|operator_required/);
  });
});

describe.each(withRole.filter(({ permission }) => permission === 'admin'))('$id for an admin of the account', ({ operation }) => {
  it('is open', async () => {
    const response = await send(plain.browser, operation);
    expect(await response.text()).not.toContain('admin_required');
  });
});

describe.each(withId)('$id', (operation) => {
  it('404 for what is not there, and for what is no id', async () => {
    const code = { job: 'job_not_found', prv: 'preview_not_found', upl: 'upload_not_found', hook: 'webhook_endpoint_not_found' }[kindOf(operation) as string] ?? 'not_found';
    for (const id of [newId(kindOf(operation)), 'x', '1', `${kindOf(operation)}_${'0'.repeat(25)}u`]) {
      const response = await send(operator.browser, operation, { id });
      expect(response.status, id).toBe(404);
      expect((await errorOf(response)).code).toBe(code);
    }
  });
});

describe.each(all)('$id', (operation) => {
  it('429 rate_limit_exceeded with Retry-After', async () => {
    const response = await send(limited, operation);
    expect(response.status).toBe(429);
    expect((await errorOf(response)).code).toBe('rate_limit_exceeded');
    expect(response.headers.get('Retry-After')).toBe('2');
  });

  it('503 service_unavailable while the database cannot answer', async () => {
    world.state.failure = Object.assign(new Error('canary'), { code: 'ECONNREFUSED' });
    const response = await send(operator.browser, operation);
    expect(response.status).toBe(503);
    const { code, message } = await errorOf(response);
    expect(code).toBe('service_unavailable');
    expect(message).not.toContain('canary');
  });

  it('500 internal_error for a failure of the service, and nothing of its cause', async () => {
    world.state.failure = new Error('canary');
    const response = await send(operator.browser, operation);
    expect(response.status).toBe(500);
    const error = await errorOf(response);
    expect(error.code).toBe('internal_error');
    expect(JSON.stringify(error)).not.toContain('canary');
  });
});

describe.each(withJson)('$id', (operation) => {
  const browserFor = () => (open.has(operation.id) ? world.browser() : operator.browser);

  it('413 payload_too_large', async () => {
    const response = await send(browserFor(), operation, { body: 'x'.repeat(65_537) });
    expect(response.status).toBe(413);
    expect((await errorOf(response)).code).toBe('payload_too_large');
  });

  it('415 unsupported_media_type: no form of another site can make one', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
      const response = await send(browserFor(), operation, { body: '{}', headers: { 'Content-Type': type } });
      expect(response.status, type).toBe(415);
      expect((await errorOf(response)).code).toBe('unsupported_media_type');
    }
  });

  it('400 for what is no JSON, no object, or an object with a field too many', async () => {
    for (const [body, code] of refusedBodies(bodies[operation.id] as object)) {
      const headers = { 'Content-Type': 'application/json' };
      const response = await send(browserFor(), operation, { body, headers });
      expect(response.status, body).toBe(400);
      expect((await errorOf(response)).code).toBe(code);
    }
  });
});

describe.each(all.filter(({ method, statuses }) => method === 'get' && statuses.includes('400')))('$id', (operation) => {
  it('400 for a parameter that is bad or unknown', async () => {
    const bad = operation.id === 'consoleGetUsage' ? 'days=91' : 'limit=101';
    for (const query of [bad, bad.replace(/=.*/, '=x'), 'colour=blue']) {
      const response = await operator.browser.request(`${operation.path}?${query}`);
      expect(response.status, query).toBe(400);
      expect((await errorOf(response)).code).toBe('invalid_request');
    }
  });
});

describe.each([...new Set(all.map(({ path }) => path))])('%s', (path) => {
  const target = path.replace('{id}', 'x');
  const documented = all.filter((operation) => operation.path === path).map(({ method }) => method.toUpperCase());

  it('405 with Allow for every other method, and OPTIONS names those there are', async () => {
    for (const method of ['GET', 'PUT', 'POST', 'DELETE', 'PATCH'].filter((name) => !documented.includes(name))) {
      const response = await operator.browser.request(target, { method });
      expect(response.status, method).toBe(405);
      expect((await errorOf(response)).code).toBe('method_not_allowed');
      expect(response.headers.get('Allow')!.split(', ')).toEqual(expect.arrayContaining(documented));
    }
    const options = await world.browser().request(target, { method: 'OPTIONS' });
    const allowed = options.headers.get('Allow')!.split(', ').filter((name) => name !== 'HEAD' && name !== 'OPTIONS');
    expect([options.status, allowed.sort()]).toEqual([204, documented.toSorted()]);
  });

  it('HEAD answers as GET does, without a body; every answer has the protective headers', async () => {
    const head = await operator.browser.request(target, { method: 'HEAD' });
    const get = await operator.browser.request(target);
    expect(head.status).toBe(get.status);
    expect(await head.text()).toBe('');
    await get.body?.cancel();
    expect(get.headers.get('X-Content-Type-Options')).toBe('nosniff');
    expect(get.headers.get('Cache-Control')).toBe('no-store');
    expect(get.headers.get('Content-Security-Policy')).toContain("default-src 'none'");
    expect(get.headers.get('X-Request-Id')).toMatch(/^req_/);
  });
});

describe('an API without the console', () => {
  it('has none of its addresses', async () => {
    const { console: _without, ...deps } = world.deps;
    const app = buildApp(deps);
    for (const { method, path } of [...all, { method: 'get', path: '/console' }]) {
      const response = await app.request(path, { method: method.toUpperCase() });
      expect(response.status, path).toBe(404);
    }
  });
});
