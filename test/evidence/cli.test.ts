/** The operator's commands: keys, books, secrets, and proofs checked without a database. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';
import { atTerminal } from '../../src/cli/terminal.ts';
import { createSecretCipher } from '../../src/domain/secret-cipher.ts';
import type { AuditEntry } from '../../src/domain/audit.ts';
import { hashApiKey } from '../../src/domain/api-key.ts';
import { signHead } from '../../src/evidence/audit-log.ts';
import { type CertificatePayload, signCertificate } from '../../src/evidence/certificate.ts';
import { generateSigningKey } from '../../src/evidence/signing-keys.ts';
import { createEvidence } from '../../src/evidence/index.ts';
import { certificateOf } from '../../src/jobs/destroy-objects.ts';
import { createStore } from '../../src/store/index.ts';
import { runCommand, spawnCommand } from '../helpers/command.ts';
import { createSite, type Site } from '../helpers/service.ts';
import { jobInput } from '../helpers/worker-world.ts';

let site: Site;
let dir: string;
beforeAll(async () => {
  site = await createSite();
  dir = await mkdtemp(join(tmpdir(), 'reelmend-cli-'));
});
afterAll(async () => {
  await site.close();
  await rm(dir, { recursive: true, force: true });
});

/** The environment of a machine that has neither the database nor the data folder. */
const elsewhere = {
  PATH: process.env['PATH']!,
  DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
  REELMEND_DATA_DIR: '/nonexistent',
};
const offline = (...args: string[]) => runCommand(args, { env: elsewhere });
const attempt = (env: Record<string, string>, args: string[]) => runCommand(args, { env });
const file = async (name: string, content: unknown) => {
  const path = join(dir, name);
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
};
const account = async () => (await site.reelmend<{ id: string }>('accounts', 'create', 'Somebody')).id;

describe('accounts and keys', () => {
  it('are rejected, planned, rotated with an overlap', async () => {
    const id = await account();
    expect(await site.reelmend('accounts', 'reject', id)).toMatchObject({ approvalStatus: 'rejected' });
    expect(await site.reelmend('accounts', 'set-plan', id, 'studio')).toMatchObject({ plan: 'studio' });
    const quotas = (...args: string[]) => site.reelmend('accounts', 'set-quotas', id, ...args);
    expect(await quotas('--jobs-per-day', '500', '--parallel-enhancements', '2')).toMatchObject({ quotas: { jobs_per_day: 500, parallel_enhancements: 2 } });
    expect(await quotas('--jobs-per-day', 'default')).toMatchObject({ quotas: { parallel_enhancements: 2 } });
    const old = await site.reelmend<{ id: string; key: string }>('keys', 'create', id, '--tier', 'secure');
    const fresh = await site.reelmend<{ id: string; key: string }>('keys', 'rotate', old.id, '--overlap-days', '3');
    expect(fresh).toMatchObject({ mode: 'live', tier: 'secure', expiresAt: null, replaces: { id: old.id } });
    const { keyPepper } = JSON.parse(await readFile(join(site.dataDir, 'secrets.json'), 'utf8')) as {
      keyPepper: string;
    };
    const store = createStore({ url: site.databaseUrl });
    const owner = (key: string) => store.keys.authenticate(hashApiKey(key, keyPepper));
    expect([(await owner(old.key))?.keyId, (await owner(fresh.key))?.keyId]).toEqual([old.id, fresh.id]);
    const [kept] = await store.keys.list(id);
    expect(kept!.expiresAt!.getTime() / 1000).toBeCloseTo(Date.now() / 1000 + 3 * 86_400, -2);
    await site.reelmend('keys', 'rotate', fresh.id, '--overlap-days', '0');
    expect(await owner(fresh.key)).toBeNull();
    await store.close();
    for (const [args, message] of [
      [['keys', 'rotate', old.id, '--overlap-days', '8'], 'Expected 0 to 7 days'],
      [['keys', 'rotate', fresh.id], 'is revoked or expired'],
      [['keys', 'rotate', 'key_00000000000000000000000000'], 'There is no key'],
      [['accounts', 'set-plan', id, 'a b'], 'Expected the name of a plan'],
      [['accounts', 'set-quotas', id], 'Nothing to change'],
      [['accounts', 'set-quotas', id, '--jobs-per-day', '0'], 'Expected a positive whole number'],
      [['accounts', 'set-quotas', id, '--parallel-enhancements', '10001'], 'Expected a whole number from 1 to 10000'],
    ] as const) {
      const { status, stderr } = await attempt(site.env, [...args]);
      expect(status).toBe(1);
      expect(stderr).toContain(message);
    }
  });
});

describe('closing an account', () => {
  it('is asked for twice, and leaves its certificates to be exported', async () => {
    const id = await account();
    const { keyPepper } = JSON.parse(await readFile(join(site.dataDir, 'secrets.json'), 'utf8')) as { keyPepper: string };
    const store = createStore({ url: site.databaseUrl, cipher: createSecretCipher(keyPepper) });
    const key = await site.reelmend<{ id: string }>('keys', 'create', id, '--name', "Ada's laptop");
    const endpoint = await store.webhookEndpoints.create({ accountId: id, mode: 'test', url: 'https://hooks.example.com/', events: ['job.completed'], description: '' });
    const delivery = await store.webhookEndpoints.test({ accountId: id, id: endpoint.endpoint.id }, 'job.completed');
    await site.reelmend('webhooks', 'rotate-secret', id);
    const open = await store.accounts.get(id);
    const input = jobInput(open!, { mode: 'test', tier: 'secure' });
    const jobs = [await store.jobs.create(input), await store.jobs.create(input)].map(({ job }) => job.id);
    const unconfirmed = await attempt(site.env, ['accounts', 'close', id]);
    expect(unconfirmed).toMatchObject({ status: 1, stderr: expect.stringContaining('permanently; add --yes to confirm.') });
    expect((await store.accounts.get(id))?.closedAt).toBeNull();
    expect(await site.reelmend('accounts', 'close', id, '--yes')).toMatchObject({ id, name: 'closed', deletedJobs: 2 });
    expect(await site.reelmend('accounts', 'close', id, '--yes')).toMatchObject({ id, name: 'closed', deletedJobs: 0 });
    const events = (await store.audit.head(id)).size;
    for (const args of [
      ...[['keys', 'create', id], ['keys', 'rename', key.id, 'Ada'], ['keys', 'rotate', key.id]],
      ...[['accounts', 'approve', id], ['accounts', 'reject', id], ['accounts', 'set-plan', id, 'gold'], ['accounts', 'set-quotas', id, '--jobs-per-day', '5']],
      ...[['accounts', 'grant', id, '5'], ['accounts', 'withdraw', id, '5'], ['users', 'invite', id, 'ada@example.com']],
      ...[['webhooks', 'rotate-secret', id], ['webhooks', 'switch-secret', id], ['webhooks', 'resend', delivery!]],
    ]) {
      expect(await attempt(site.env, args), args.join(' ')).toMatchObject({ status: 1, stderr: `reelmend: The account ${id} is closed.\n` });
    }
    expect(await store.webhookSecrets.rotate(id)).toBeNull();
    expect(await store.webhookSecrets.switchNow(id)).toBe(false);
    expect(await store.keys.rename(key.id, 'Ada')).toBeNull();
    expect((await store.audit.head(id)).size).toBe(events);

    expect(await site.reelmend('certificates', 'export', id)).toMatchObject({ certificates: [], pending: 2 });
    const evidence = createEvidence({ keys: store.signingKeys, cipher: createSecretCipher(keyPepper) });
    const sign = await evidence.certificateSigner();
    for (const job of jobs) await store.certificates.issue(job, (facts) => sign(certificateOf(facts, 'filesystem')));
    const exported = await site.reelmend<{ certificates: { certificate: string }[] }>('certificates', 'export', id);
    const jwks = ['--jwks', await file('all-keys.json', await evidence.jwks())];
    const good = await offline('verify', 'certificate', await file('all.json', exported), ...jwks);
    expect(JSON.parse(good.stdout)).toMatchObject({
      valid: true,
      certificates: jobs.map((job) => ({ job_id: job, account_id: id, actor: 'operator', objects: [] })),
    });
    const [first, second] = exported.certificates;
    const forged = { ...exported, certificates: [first, { ...second, certificate: `${second!.certificate.slice(0, -8)}AAAAAAAA` }] };
    const bad = await offline('verify', 'certificate', await file('forged.json', forged), ...jwks);
    expect(bad).toMatchObject({ status: 1, stderr: expect.stringContaining('Certificate 1 (counted from 0): The signature') });
    await store.close();
  });
});

describe('the ledger check', () => {
  it('prints every sum, and ends with status 1 when one does not hold', async () => {
    const id = await account();
    await site.reelmend('accounts', 'grant', id, '70');
    const good = await site.reelmend<{ ok: boolean; sums: { total: number; books: object } }>('ledger', 'check');
    expect(good).toMatchObject({
      ok: true,
      violations: [],
      sums: { total: 0, books: { customer: 70, issued: -70, revenue: 0 } },
    });
    const sql = postgres(site.databaseUrl, { max: 1 });
    await sql`UPDATE accounts SET credits = credits + 1 WHERE id = ${id}`;
    const bad = await spawnCommand(['ledger', 'check'], { env: site.env });
    expect(bad.status).toBe(1);
    expect(JSON.parse(bad.stdout)).toMatchObject({ ok: false, violations: [{ subject: id, detail: '71 <> 70' }] });
    await sql`UPDATE accounts SET credits = credits - 1 WHERE id = ${id}`;
    await sql.end();
  });
});

describe('webhook secrets', () => {
  it('are made with the account, encrypted, rotated and switched', async () => {
    const id = await account();
    const first = await site.reelmend<{ secret: string }>('webhooks', 'secret', id);
    expect(first).toMatchObject({
      account: id,
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
      replaced: [],
    });
    const { stdout } = await spawnCommand(['webhooks', 'rotate-secret', id], { env: site.env });
    const { secret } = JSON.parse(stdout) as { secret: string };
    const rotated = { account: id, secret, replaced: [first.secret] };
    const switchesAt = expect.stringMatching(/Z$/) as string;
    expect(await site.reelmend('webhooks', 'secret', id)).toEqual({
      ...rotated,
      serviceSignature: { secret: first.secret, switchesAt },
    });
    expect(await site.reelmend('webhooks', 'switch-secret', id)).toEqual({ account: id, switched: true });
    expect(await site.reelmend('webhooks', 'switch-secret', id)).toEqual({ account: id, switched: false });
    expect(await site.reelmend('webhooks', 'secret', id)).toEqual({
      ...rotated,
      serviceSignature: { secret, switchesAt: null },
    });
    expect(await site.reelmend('webhooks', 'deliveries', id)).toEqual([]);
    const { status, stderr } = await attempt(site.env, ['webhooks', 'resend', 'evt_00000000000000000000000000']);
    expect(status).toBe(1);
    expect(stderr).toMatch(/^reelmend: There is no delivery evt_0{26} in the database \w+ at [\w.]+:\d+\.\n$/);
    // With another pepper the secret cannot be decrypted, and the error says so.
    const other = await attempt(
      { ...site.env, REELMEND_KEY_PEPPER: 'quite another pepper', REELMEND_LINK_SECRET: 'x'.repeat(16) },
      ['webhooks', 'secret', id],
    );
    expect(other.stderr).toContain('REELMEND_KEY_PEPPER differs');
  });
});

interface Exported {
  entries: AuditEntry[];
  head: string;
  jwks: { keys: object[] };
}

describe('an exported audit log', () => {
  it('is written in parts, so that a log of millions of entries is not too long for a string, and is verified', async () => {
    const id = await account();
    const sql = postgres(site.databaseUrl, { max: 1 });
    await sql`SELECT count(*) FROM generate_series(1, 1200) i, append_event(${id}, 'evt_' || lpad(i::text, 26, '0'), 'account.approved', NULL, '{}')`;
    await sql.end();
    const parts: Buffer[] = [];
    const refuse = (text: string) => expect.unreachable(text);
    const output = { stdout: refuse, stderr: refuse, stdoutBytes: async (bytes: Uint8Array) => void parts.push(Buffer.from(bytes)) };
    await atTerminal({ env: site.env, stdin: Readable.from([]), isTerminal: false, json: false, status: 0, ...output }, () => runProgram(['audit', 'export', id]));
    const log = Buffer.concat(parts);
    expect(Math.max(...parts.map(({ length }) => length))).toBeLessThan(log.length / 2);
    const { entries, jwks } = JSON.parse(log.toString()) as Exported;
    expect(entries.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 1201 }, (_, i) => i + 1));
    await writeFile(join(dir, 'long.json'), log);
    expect(await offline('verify', 'audit-log', join(dir, 'long.json'), '--jwks', await file('long-keys.json', jwks))).toMatchObject({ status: 0 });
  });

  it('is verified offline, also after the key that signed it was replaced', async () => {
    const id = await account();
    for (const credits of ['1', '2', '3']) await site.reelmend('accounts', 'grant', id, credits);
    const log = await site.reelmend<Exported>('audit', 'export', id);
    await site.reelmend('signing-keys', 'rotate');
    const { jwks } = await site.reelmend<{ jwks: { keys: object[] } }>('signing-keys', 'list');
    expect(jwks.keys).toHaveLength(2);
    const published = await file('jwks.json', jwks);
    const good = await offline('verify', 'audit-log', await file('log.json', log), '--jwks', published);
    expect(good).toMatchObject({ status: 0, stderr: '' });
    expect(JSON.parse(good.stdout)).toEqual({ valid: true, result: 'verified', size: 4, hash: log.entries[3]!.hash });

    const [a, b, c, d] = log.entries as [AuditEntry, AuditEntry, AuditEntry, AuditEntry];
    const ofEntry = (index: number) => expect.stringContaining(`entry ${index} `) as string;
    for (const [what, entries, index, message] of [
      ['flipped', [a, { ...b, data: { ...b.data, credits: 100 } }, c, d], 1, ofEntry(1)],
      ['dropped', [a, c, d], 1, ofEntry(1)],
      ['swapped', [a, c, b, d], 1, ofEntry(1)],
      ['inserted', [a, b, b, c, d], 2, ofEntry(2)],
      ['truncated', [a, b], 2, 'reelmend: The log ends after 2 entries, before its signed head, which counts 4.\n'],
    ] as const) {
      const bad = await offline(
        'verify',
        'audit-log',
        await file(`${what}.json`, { ...log, entries }),
        '--jwks',
        published,
      );
      expect([what, bad.status]).toEqual([what, 1]);
      expect(JSON.parse(bad.stdout)).toMatchObject({ valid: false, first_bad_index: index });
      expect(bad.stderr).toEqual(message);
    }
    const renamed = await file('renamed.json', { ...log, account_id: await account() });
    const other = { status: 1, stdout: '', stderr: 'reelmend: The log names another account than its signed head.\n' };
    expect(await offline('verify', 'audit-log', renamed, '--jwks', published)).toEqual(other);
  });
});

describe('a certificate', () => {
  it('is verified offline, alone or in the answer of the API; changed by one byte it is refused', async () => {
    const key = await generateSigningKey();
    const payload: CertificatePayload = {
      id: 'cert_00000000000000000000000000',
      version: 1,
      job_id: 'job_00000000000000000000000000',
      account_id: 'acct_00000000000000000000000000',
      objects: [],
      method: 'logical deletion, verified absent',
      storage: 's3',
      actor: 'customer',
      deleted_at: '2026-01-01T00:00:00.000Z',
      issued_at: '2026-01-01T00:00:01.000Z',
      audit: { sequence: 3, hash: 'b'.repeat(64) },
    };
    const jws = await signCertificate(payload, key);
    const keys = await file('keys.json', { keys: [key.publicJwk] });
    for (const content of [jws, `${jws}\n`, JSON.stringify({ certificate: jws, payload })]) {
      const good = await offline('verify', 'certificate', await file('good', content), '--jwks', keys);
      expect(JSON.parse(good.stdout)).toEqual({ valid: true, result: 'verified', certificate: payload });
    }
    const piped = (stdin: string) => runCommand(['verify', 'certificate', '-', '--jwks', keys], { env: elsewhere, stdin });
    expect(JSON.parse((await piped(jws)).stdout)).toMatchObject({ result: 'verified' });
    expect(await piped('')).toEqual({ status: 1, stdout: '', stderr: 'reelmend: Standard input contains no certificate.\n' });
    const changed = jws.replace(/\.(.{40})(.)/, (_, head: string, c: string) => `.${head}${c === 'A' ? 'B' : 'A'}`);
    for (const [content, args, message] of [
      [changed, ['--jwks', keys], 'it was changed'],
      [jws, [], '--jwks: name a file'],
      [jws, ['--jwks', await file('none.json', '{}')], 'is not a set of Ed25519 public keys'],
      [jws, ['--jwks', join(dir, 'absent')], `Cannot read ${join(dir, 'absent')}: no such file or directory.`],
      [jws, ['--jwks', dir], `Cannot read ${dir}: illegal operation on a directory.`],
      [jws, ['--jwks', 'http://127.0.0.1:1/jwks'], 'Cannot read http://127.0.0.1:1/jwks: bad port.'],
      ['{"hello": 1}', ['--jwks', keys], 'contains no certificate'],
      ['hello', [], 'contains no certificate'],
    ] as const) {
      const bad = await offline('verify', 'certificate', await file('bad', content), ...args);
      expect(bad.status).toBe(1);
      expect(bad.stderr).toContain(message);
      expect(bad.stderr.trim().split('\n')).toHaveLength(1);
    }
  });
});

describe('a document that brings its own keys', () => {
  const log = async () => {
    const [honest, forger] = [await generateSigningKey(), await generateSigningKey()];
    const head = { account_id: 'acct_1', size: 0, hash: '0'.repeat(64), signed_at: '2026-01-01T00:00:00.000Z' };
    const signedBy = async (key: typeof honest, keys = [key]) => ({
      entries: [],
      head: await signHead(head, key),
      jwks: { keys: keys.map(({ publicJwk }) => publicJwk) },
    });
    return { honest, forger, signedBy };
  };

  it('is unverified without a trusted key, and the status is not 0', async () => {
    const { honest, forger, signedBy } = await log();
    const forged = await file('resigned.json', await signedBy(forger));
    const alone = await spawnCommand(['verify', 'audit-log', forged], { env: elsewhere });
    expect(alone.status).toBe(2);
    expect(JSON.parse(alone.stdout)).toMatchObject({ valid: false, result: 'unverified', size: 0 });
    expect(alone.stderr).toContain('reelmend: unverified: checked only with the keys inside the file');
    const published = await file('published.json', { keys: [honest.publicJwk] });
    const refused = await offline('verify', 'audit-log', forged, '--jwks', published);
    expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining('not in the key set') as string });
  });

  it('is verified by a pinned thumbprint, which is computed and not believed', async () => {
    const { honest, forger, signedBy } = await log();
    const good = await file('pinned.json', await signedBy(honest, [forger, honest]));
    const pin = ['--thumbprint', honest.kid];
    expect(await offline('verify', 'audit-log', good, ...pin)).toMatchObject({ status: 0, stderr: '' });
    // The forger's key, under the name of the honest one.
    const posing = { ...forger, kid: honest.kid, publicJwk: { ...forger.publicJwk, kid: honest.kid } };
    const bad = await offline('verify', 'audit-log', await file('posing.json', await signedBy(posing)), ...pin);
    expect(bad).toMatchObject({ status: 1, stderr: expect.stringContaining('not in the key set') as string });
  });

  it('is verified by keys from a URL, not over http from elsewhere', async () => {
    const { honest, signedBy } = await log();
    const server = createServer((_request, response) => response.end(JSON.stringify({ keys: [honest.publicJwk] })));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/.well-known/jwks.json`;
    const good = await file('by-url.json', await signedBy(honest));
    expect(await offline('verify', 'audit-log', good, '--jwks', url)).toMatchObject({ status: 0, stderr: '' });
    server.close();
    const missing = createServer((_request, response) => response.writeHead(404).end()).listen(0, '127.0.0.1');
    await once(missing, 'listening');
    const origin = `http://127.0.0.1:${(missing.address() as AddressInfo).port}`;
    expect((await offline('verify', 'audit-log', good, '--jwks', origin)).stderr).toBe(`reelmend: Cannot read ${origin}: status 404.\n`);
    missing.close();
    const plain = await offline('verify', 'audit-log', good, '--jwks', 'http://keys.example.com/jwks.json');
    expect(plain).toMatchObject({ status: 1, stderr: expect.stringContaining('over http prove nothing') as string });
  });
});
