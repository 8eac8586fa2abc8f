/** Keys, webhooks, credits and evidence of the console, over a real database. */
import { createHmac } from 'node:crypto';
import { describe, expect, it, vi } from 'vitest';
import type {
  AuditExport,
  AuditLog,
  ConsoleAccount,
  ConsoleCertificateList,
  ConsoleDeliveryDetail,
  ConsoleDeliveryList,
  ConsoleKey,
  ConsoleKeyList,
  Ledger,
  ConsoleNewKey,
  ConsoleRotatedKey,
  ConsoleUsage,
  ConsoleWebhookSecret,
} from '../../src/contract/types.gen.ts';
import { hashApiKey } from '../../src/domain/api-key.ts';
import { auditExport, verifyAuditLog } from '../../src/evidence/index.ts';
import type { ConsoleWorld, Person } from '../helpers/console.ts';
import { setUpConsole } from '../helpers/console-suite.ts';
import { errorOf, pepper } from '../helpers/http.ts';
import { endJob, liveJob } from '../helpers/console-jobs.ts';
import { auditEntries } from '../helpers/worker-world.ts';

let world: ConsoleWorld;
let ours: Person;
let stranger: Person;
setUpConsole({ ours: 10_000, stranger: 10_000 }, (...made) => ([world, ours, stranger] = made));

const lastEvent = async (accountId: string) => (await auditEntries(world.store, { accountId, limit: 1 }))[0]!;

describe('keys', () => {
  it('are shown once, work at once, and are logged with who made them', async () => {
    const made = await ours.browser.post<ConsoleNewKey>('/console/api/keys', { mode: 'live', tier: 'secure' });
    expect(made.key).toMatchObject({ mode: 'live', tier: 'secure', state: 'active', last_four: made.secret.slice(-4) });
    const principal = await world.store.keys.authenticate(hashApiKey(made.secret, pepper));
    expect(principal).toMatchObject({ keyId: made.key.id, account: { id: ours.accountId } });
    expect(await lastEvent(ours.accountId)).toMatchObject({
      kind: 'key.created',
      data: { key_id: made.key.id, user_id: ours.userId },
    });
    const listed = await ours.browser.call<ConsoleKeyList>('/console/api/keys');
    expect(listed.data[0]!.last_used_at).not.toBeNull();
    expect(JSON.stringify(listed)).not.toContain(made.secret);
  });

  it.each([
    [0, 'expired'],
    [7, 'expiring'],
  ] as const)('rotate with an overlap of %i days', async (overlap_days, state) => {
    const { key, secret } = await ours.browser.post<ConsoleNewKey>('/console/api/keys', { mode: 'test', tier: 'standard' });
    const path = `/console/api/keys/${key.id}/rotation`;
    const rotated = await ours.browser.post<ConsoleRotatedKey>(path, { overlap_days });
    expect(rotated.replaced).toMatchObject({ id: key.id, state });
    expect(rotated.key).toMatchObject({ mode: 'test', tier: 'standard', state: 'active' });
    const works = async (text: string) => (await world.store.keys.authenticate(hashApiKey(text, pepper))) !== null;
    expect([await works(secret), await works(rotated.secret)]).toEqual([state === 'expiring', true]);
    expect((await lastEvent(ours.accountId)).data).toMatchObject({ user_id: ours.userId, overlap_days });
    if (state === 'expiring') return;
    const again = await ours.browser.request(path, { method: 'POST', json: { overlap_days } });
    expect(again.status).toBe(409);
    expect((await errorOf(again)).code).toBe('key_not_active');
  });

  it('that are revoked while the body of a request arrives do not work for it', async () => {
    const { key, secret } = await ours.browser.post<ConsoleNewKey>('/console/api/keys', { mode: 'test', tier: 'standard' });
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        await ours.browser.call(`/console/api/keys/${key.id}`, { method: 'DELETE' });
        controller.enqueue(Buffer.from(JSON.stringify({ video_url: 'https://media.example.com/a.mp4', resolution: '1080p' })));
        controller.close();
      },
    }, { highWaterMark: 0 });
    const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${secret}` };
    const response = await world.app.request('/v1/jobs', { method: 'POST', headers, body, duplex: 'half' } as RequestInit);
    expect([response.status, (await errorOf(response)).code]).toEqual([401, 'invalid_api_key']);
  });

  it.each([
    { name: 'was there', complete: true, lookUps: 1 },
    { name: 'came later', complete: false, lookUps: 2 },
  ])('are looked up $lookUps times for a body that $name', async ({ complete, lookUps }) => {
    const { secret } = await ours.browser.post<ConsoleNewKey>('/console/api/keys', { mode: 'test', tier: 'standard' });
    const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${secret}` };
    const lookUp = vi.spyOn(world.store.keys, 'authenticate');
    await world.app.request('/v1/jobs', { method: 'POST', headers, body: '{}' }, { incoming: { complete } });
    expect(lookUp).toHaveBeenCalledTimes(lookUps);
    lookUp.mockRestore();
  });

  it('have a name, which may change, and an access, which a rotation keeps', async () => {
    const made = await ours.browser.post<ConsoleNewKey>('/console/api/keys', {
      ...{ mode: 'live', tier: 'standard', name: 'website', access: 'create_only' },
    });
    expect(made.key).toMatchObject({ name: 'website', access: 'create_only' });
    expect(await lastEvent(ours.accountId)).toMatchObject({
      kind: 'key.created',
      data: { key_id: made.key.id, key_name: 'website', access: 'create_only' },
    });
    const path = `/console/api/keys/${made.key.id}`;
    const rename = (name: string) => ours.browser.request(path, { method: 'PATCH', json: { name } });
    expect(await (await rename('shop 🛒')).json()).toMatchObject({ id: made.key.id, name: 'shop 🛒', access: 'create_only' });
    const renamed = await lastEvent(ours.accountId);
    expect(renamed).toMatchObject({
      kind: 'key.renamed',
      data: { key_name: 'shop 🛒', previous_name: 'website', user_id: ours.userId },
    });
    expect((await rename('shop 🛒')).status).toBe(200);
    expect((await lastEvent(ours.accountId)).sequence).toBe(renamed.sequence);
    const { key: fresh } = await ours.browser.post<ConsoleRotatedKey>(`${path}/rotation`, { overlap_days: 0 });
    expect(fresh).toMatchObject({ name: 'shop 🛒', access: 'create_only' });
    for (const name of ['x'.repeat(101), 'a\nb']) expect((await rename(name)).status, name).toBe(400);
    expect((await rename('🛒'.repeat(100))).status).toBe(200);
  });

  it('revoke at once, twice alike', async () => {
    const { key, secret } = await ours.browser.post<ConsoleNewKey>('/console/api/keys', { mode: 'live', tier: 'standard' });
    const revoke = () => ours.browser.call<ConsoleKey>(`/console/api/keys/${key.id}`, { method: 'DELETE' });
    const first = await revoke();
    expect(first.state).toBe('revoked');
    expect(await revoke()).toEqual(first);
    expect(await world.store.keys.authenticate(hashApiKey(secret, pepper))).toBeNull();
  });

  it('of another account are not there', async () => {
    const { key } = await stranger.browser.post<ConsoleNewKey>('/console/api/keys', { mode: 'live', tier: 'standard' });
    const attempts = [
      ours.browser.request(`/console/api/keys/${key.id}`, { method: 'DELETE' }),
      ours.browser.request(`/console/api/keys/${key.id}`, { method: 'PATCH', json: { name: 'mine' } }),
      ours.browser.request(`/console/api/keys/${key.id}/rotation`, { method: 'POST', json: { overlap_days: 0 } }),
    ];
    for (const response of await Promise.all(attempts)) expect(response.status).toBe(404);
    expect((await world.store.keys.get(key.id))!.revokedAt).toBeNull();
    const listed = await ours.browser.call<ConsoleKeyList>('/console/api/keys?limit=100');
    expect(listed.data.map(({ id }) => id)).not.toContain(key.id);
  });

  it('at most 25 of an account work at a time, however many are asked for at once', async () => {
    const { browser } = await world.person();
    const make = () => browser.request('/console/api/keys', { method: 'POST', json: { mode: 'test', tier: 'standard' } });
    const responses = await Promise.all(Array.from({ length: 30 }, make));
    const made = responses.filter(({ status }) => status === 201);
    expect(made).toHaveLength(25);
    expect((await errorOf(responses.find(({ status }) => status === 409)!)).code).toBe('key_limit_reached');
    const { key } = (await made[0]!.json()) as ConsoleNewKey;
    const rotate = (overlap_days: number) =>
      browser.request(`/console/api/keys/${key.id}/rotation`, { method: 'POST', json: { overlap_days } });
    const both = await rotate(7);
    expect([both.status, (await errorOf(both)).code]).toEqual([409, 'key_limit_reached']);
    expect((await rotate(0)).status).toBe(201);
    expect((await make()).status).toBe(409);
    const { key: other } = (await made[1]!.json()) as ConsoleNewKey;
    await browser.call(`/console/api/keys/${other.id}`, { method: 'DELETE' });
    expect((await make()).status).toBe(201);
  });

  it('are listed in pages', async () => {
    const person = await world.person();
    for (let i = 0; i < 5; i += 1) await person.browser.post('/console/api/keys', { mode: 'test', tier: 'standard' });
    const seen: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const after: string = cursor === '' ? '' : `&starting_after=${cursor}`;
      const page: ConsoleKeyList = await person.browser.call(`/console/api/keys?limit=2${after}`);
      seen.push(...page.data.map(({ id }) => id));
      cursor = page.next_cursor;
    }
    expect(seen).toHaveLength(5);
    expect(seen).toEqual(seen.toSorted().reverse());
  });
});

describe('webhooks', () => {
  it('show the secret that signs, and both for a day after a rotation', async () => {
    const before = await ours.browser.call<ConsoleWebhookSecret>('/console/api/webhooks/secret');
    expect(before.replaced).toEqual([]);
    expect(before.service_signature).toEqual({ secret: before.secret, switches_at: null });
    expect((await world.store.webhookSecrets.signing(ours.accountId))!.secrets).toEqual([before.secret]);
    const after = await ours.browser.post<ConsoleWebhookSecret>('/console/api/webhooks/secret/rotation');
    expect(after.secret).not.toBe(before.secret);
    expect(after.replaced).toMatchObject([{ secret: before.secret }]);
    expect(Date.parse(after.replaced[0]!.expires_at) - Date.now()).toBeGreaterThan(23.9 * 3600_000);
    expect(await lastEvent(ours.accountId)).toMatchObject({ kind: 'webhook_secret.rotated', data: { user_id: ours.userId } });
    expect((await stranger.browser.call<ConsoleWebhookSecret>('/console/api/webhooks/secret')).secret).not.toBe(after.secret);
  });

  it('say which secret signs X-Service-Signature until when, and switch at once when asked', async () => {
    const person = await world.person({ credits: 10 });
    const call = (path: string, json?: object) => person.browser.post<ConsoleWebhookSecret>(`/console/api/webhooks/secret${path}`, json);
    const before = await person.browser.call<ConsoleWebhookSecret>('/console/api/webhooks/secret');
    const rotated = await call('/rotation');
    expect(rotated.service_signature).toEqual({ secret: before.secret, switches_at: rotated.replaced[0]!.expires_at });
    const switched = await call('/switch');
    expect(switched).toEqual({ ...rotated, service_signature: { secret: rotated.secret, switches_at: null } });
    expect(await lastEvent(person.accountId)).toMatchObject({ kind: 'webhook_secret.switched', data: { user_id: person.userId } });
    expect(await call('/switch')).toEqual(switched);
  });

  it.each(['job.completed', 'job.failed'] as const)('test event %s: creates a short test job with the webhook', async (event) => {
    const json = { url: 'https://hooks.example.com/x', event };
    const { job_id } = await ours.browser.post<{ job_id: string }>('/console/api/webhooks/test', json);
    const job = await world.store.jobs.get(ours.accountId, 'test', job_id);
    expect(job).toMatchObject({ mode: 'test', webhookUrl: 'https://hooks.example.com/x', creditsCharged: 0 });
    expect(job!.videoUrl).toMatch(event === 'job.failed' ? /\/processing_failed\.mp4$/ : /\/webhook-test\.mp4$/);
  });

  it('400 url_not_allowed for a test event to an invalid URL', async () => {
    const json = { url: 'ftp://hooks.example.com/x', event: 'job.completed' };
    const response = await ours.browser.request('/console/api/webhooks/test', { method: 'POST', json });
    expect(await errorOf(response)).toMatchObject({ code: 'url_not_allowed', param: '/url' });
  });

  it('are listed with their latest try, shown with the request and every answer, and sent again', async () => {
    const job = await liveJob(world, ours.accountId, { webhookUrl: 'https://hooks.example.com/y' });
    await endJob(world, job.id, 'done');
    const query = `/console/api/webhooks/deliveries?job_id=${job.id}`;
    const { data } = await ours.browser.call<ConsoleDeliveryList>(query);
    const [delivery] = data;
    // The ledger's and the audit log's ids of previews are taken, too.
    const ofPreview = '/console/api/webhooks/deliveries?job_id=prv_01jdq4s9xkf5v8t2m6w0c3rhbz';
    expect(await ours.browser.call<ConsoleDeliveryList>(ofPreview)).toMatchObject({ data: [] });
    expect(delivery).toMatchObject({ event: 'job.completed', state: 'pending', last_attempt: null, failed_attempts: 0 });
    await world.store.deliveries.settle(
      { id: delivery!.id, url: 'https://hooks.example.com/y' },
      { at: new Date(), durationMs: 12, status: 500, failure: 'the server answered with status 500.', responseBody: 'oh no' },
      { state: 'dead' },
    );
    const dead = await ours.browser.call<ConsoleDeliveryList>('/console/api/webhooks/deliveries?state=dead');
    expect(dead.data[0]).toMatchObject({ id: delivery!.id, failed_attempts: 1, last_attempt: { status: 500, response_body: 'oh no' } });
    const path = `/console/api/webhooks/deliveries/${delivery!.id}`;
    const shown = await ours.browser.call<ConsoleDeliveryDetail>(path);
    expect(shown.request).toMatchObject({
      url: 'https://hooks.example.com/y',
      body: JSON.stringify({ event: 'job.completed', job_id: job.id, status: 'done' }),
      headers: { 'webhook-id': delivery!.id },
    });
    expect(shown.attempts).toHaveLength(1);
    const response = await ours.browser.request(`${path}/resend`, { method: 'POST' });
    expect(response.status).toBe(202);
    const resent = (await response.json()) as ConsoleDeliveryDetail;
    expect(resent.delivery).toMatchObject({ state: 'pending', failed_attempts: 0 });
    expect(resent.attempts).toHaveLength(1);
    for (const [method, suffix] of [['GET', ''], ['POST', '/resend']] as const) {
      expect((await stranger.browser.request(`${path}${suffix}`, { method })).status).toBe(404);
    }
    await ours.browser.call(`/console/api/jobs/${job.id}`, { method: 'DELETE' });
    const gone = await ours.browser.request(`${path}/resend`, { method: 'POST' });
    expect(gone.status).toBe(409);
    expect((await errorOf(gone)).code).toBe('delivery_not_resendable');
    expect((await ours.browser.call<ConsoleDeliveryDetail>(path)).request.url).toBeNull();
  });

  it('are signed with the secret that is shown', async () => {
    const { secret } = await ours.browser.call<ConsoleWebhookSecret>('/console/api/webhooks/secret');
    const { webhookHeaders } = await import('../../src/domain/webhooks.ts');
    const signing = (await world.store.webhookSecrets.signing(ours.accountId))!;
    const headers = webhookHeaders({ id: 'evt_x', at: new Date(), body: '{}', ...signing });
    const shown = await ours.browser.call<ConsoleWebhookSecret>('/console/api/webhooks/secret');
    expect(shown.secret).toBe(secret);
    const hex = createHmac('sha256', shown.service_signature.secret).update('{}').digest('hex');
    expect(headers['x-service-signature']).toBe(hex);
  });
});

describe('credits', () => {
  it('every movement with the balance after it, in pages, newest first', async () => {
    const person = await world.person({ credits: 1000 });
    const first = await liveJob(world, person.accountId, { credits: 30 });
    await liveJob(world, person.accountId, { credits: 60 });
    await person.browser.call(`/console/api/jobs/${first.id}`, { method: 'DELETE' });
    const page = await person.browser.call<Ledger>('/console/api/ledger?limit=3');
    expect(page.data.map(({ kind, amount, balance }) => [kind, amount, balance])).toEqual([
      ['refund', 30, 940],
      ['charge', -60, 910],
      ['charge', -30, 970],
    ]);
    expect(page.data[0]!.job_id).toBe(first.id);
    const rest = await person.browser.call<Ledger>(`/console/api/ledger?limit=3&starting_after=${page.next_cursor}`);
    expect(rest).toMatchObject({ has_more: false, data: [{ kind: 'grant', amount: 1000, balance: 1000, job_id: null }] });
    const others = await stranger.browser.call<Ledger>('/console/api/ledger');
    expect(others.data.map(({ job_id }) => job_id)).not.toContain(first.id);
  });

  it('use per day, with the days on which nothing happened', async () => {
    const person = await world.person({ credits: 1000 });
    await liveJob(world, person.accountId, { credits: 30, durationSeconds: 10 });
    const second = await liveJob(world, person.accountId, { credits: 60, durationSeconds: 20 });
    await person.browser.call(`/console/api/jobs/${second.id}`, { method: 'DELETE' });
    const { days } = await person.browser.call<ConsoleUsage>('/console/api/usage');
    expect(days).toHaveLength(30);
    const today = new Date().toISOString().slice(0, 10);
    expect(days.at(-1)).toEqual({ date: today, jobs: 2, seconds: 30, credits: 90, refunded: 60 });
    expect(days[0]).toMatchObject({ jobs: 0, seconds: 0, credits: 0, refunded: 0 });
    expect((await person.browser.call<ConsoleUsage>('/console/api/usage?days=1')).days).toHaveLength(1);
    expect((await person.browser.call<ConsoleUsage>('/console/api/usage?days=90')).days).toHaveLength(90);
  });
});

describe('evidence', () => {
  it('the retention is set and logged with who set it', async () => {
    const account = await ours.browser.call<ConsoleAccount>('/console/api/account', { method: 'PATCH', json: { retention_days: 7 } });
    expect(account.retention_days).toBe(7);
    expect(await lastEvent(ours.accountId)).toMatchObject({
      kind: 'retention.changed',
      data: { retention_days: 7, previous_days: 30, user_id: ours.userId },
    });
  });

  it('the retention is not set when its entry cannot be written, and entries name the value before', async () => {
    const person = await world.person({ credits: 10 });
    const set = (retention_days: number) =>
      person.browser.request('/console/api/account', { method: 'PATCH', json: { retention_days } });
    const kept = async () => (await world.store.accounts.get(person.accountId))!.retentionDays;
    await world.sql`CREATE FUNCTION fail_for_test() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$`;
    await world.sql`CREATE TRIGGER fail_for_test BEFORE INSERT ON job_events FOR EACH ROW
      WHEN (NEW.kind = 'retention.changed') EXECUTE FUNCTION fail_for_test()`;
    expect([(await set(7)).status, await kept()]).toEqual([500, 30]);
    await world.sql`DROP TRIGGER fail_for_test ON job_events`;
    const answers = await Promise.all([1, 2, 3, 4, 5].map((days) => set(days)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    const entries = await auditEntries(world.store, { accountId: person.accountId, limit: 5 });
    const changes = entries.reverse().map(({ data }) => data as { retention_days: number; previous_days: number });
    expect(changes.map((change) => change.previous_days)).toEqual([30, ...changes.slice(0, -1).map((change) => change.retention_days)]);
    expect(await kept()).toBe(changes.at(-1)!.retention_days);
  });

  it('the audit log is listed with a signed head', async () => {
    const page = await ours.browser.call<AuditLog>('/console/api/audit-log?limit=2');
    expect(page.data).toHaveLength(2);
    expect(page).toMatchObject({ has_more: true, next_cursor: page.data[1]!.sequence });
    expect(page.data.every(({ account_id }) => account_id === ours.accountId)).toBe(true);
  });

  it('the export is whole and verifies offline, also when it takes several pages', async () => {
    const person = await world.person();
    for (let i = 0; i < 1100; i += 1) {
      await world.store.audit.record({ accountId: person.accountId, kind: 'result.accessed', data: { i } });
    }
    const exported = await person.browser.call<AuditExport>('/console/api/audit-log/export');
    expect(exported.entries.length).toBeGreaterThan(1100);
    const result = await verifyAuditLog(auditExport.parse(exported), exported.jwks);
    expect(result).toMatchObject({ ok: true, size: exported.entries.length });
  });

  it('certificates are listed, of one job too, and of nobody else', async () => {
    const job = await liveJob(world, ours.accountId, { tier: 'secure' });
    await ours.browser.call(`/console/api/jobs/${job.id}`, { method: 'DELETE' });
    await world.store.certificates.issue(job.id, async () => 'aGVhZA.Ym9keQ.c2ln');
    const listed = await ours.browser.call<ConsoleCertificateList>(`/console/api/certificates?job_id=${job.id}`);
    expect(listed.data).toMatchObject([{ job_id: job.id, certificate: 'aGVhZA.Ym9keQ.c2ln' }]);
    expect((await ours.browser.call<ConsoleCertificateList>('/console/api/certificates')).data).toHaveLength(1);
    expect((await stranger.browser.call<ConsoleCertificateList>('/console/api/certificates')).data).toEqual([]);
  });
});
