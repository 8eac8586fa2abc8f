/** What operators read at a terminal, and what programs get. And where data lies that nobody has named a folder for. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defaultDataDir } from '../../src/app/folders.ts';
import { type Config, loadConfig } from '../../src/app/config.ts';
import { openStore } from '../../src/app/open-store.ts';
import { loadSecrets } from '../../src/app/secrets.ts';
import { show } from '../../src/cli/table.ts';
import { atTerminal, type Terminal } from '../../src/cli/terminal.ts';
import { databaseOf } from '../../src/cli/with-store.ts';
import { runCommand, script, spawnCommand } from '../helpers/command.ts';
import { createSite, type Site } from '../helpers/service.ts';
import { eventually } from '../helpers/wait.ts';
import { jobInput } from '../helpers/worker-world.ts';

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'reelmend-tables-'));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

async function shown(value: object, { isTerminal = true, json = false } = {}): Promise<string> {
  let text = '';
  const unused = async () => {};
  const terminal = { env: {}, stdin: process.stdin, stdout: (part: string) => void (text += part), stdoutBytes: unused, stderr: () => {}, isTerminal, json, status: 0 };
  await atTerminal(terminal, async () => show(value));
  return text;
}

describe('at a terminal', () => {
  const rows = [
    { id: 'acct_1', name: 'Ada', createdAt: new Date('2026-11-23T09:41:07.120Z'), closedAt: null, tags: ['a', 'b'] },
    { id: 'acct_22', name: 'evil\u001b[2J', createdAt: null, closed: true, tags: [] },
  ];

  it('a list is a table, and nothing in it controls the terminal', async () => {
    expect(await shown(rows)).toBe(
      [
        'id       name      created at           closed at  tags  closed',
        'acct_1   Ada       2026-11-23 09:41:07             a, b',
        'acct_22  evil�[2J                                        yes',
        '',
      ].join('\n'),
    );
    expect(await shown([])).toBe('There are none.\n');
    // The first reverses what follows; U+009B begins the same sequences as ESC [.
    for (const control of ['\u202e', '\u2066', '\u200f', '\u2028', '\u009b']) expect(await shown([{ name: `a${control}b` }])).toBe('name\na\uFFFDb\n');
  });

  it('a thing is a line for each fact, and its lists follow as tables', async () => {
    expect(await shown({ keyId: 'k1', ok: false, sums: { live: 3 }, violations: [{ rule: 'r', row: 7 }] })).toBe(
      'key id  k1\nok      no\nsums    {"live":3}\n\nviolations\nrule  row\nr     7\n',
    );
  });

  it('programs, and people with --json, get JSON', async () => {
    const json = `${JSON.stringify(rows, null, 2)}\n`;
    expect(await shown(rows, { isTerminal: false })).toBe(json);
    expect(await shown(rows, { json: true })).toBe(json);
    const odd = { name: 'a\u202e\u009b2J\u007f\u2028"\n' };
    const text = await shown(odd, { json: true });
    expect(text).toBe(String.raw`{
  "name": "a\u202e\u009b2J\u007f\u2028\"\n"
}
`);
    expect(JSON.parse(text)).toEqual(odd);
  });
});

describe('a command of operators', () => {
  let site: Site;
  beforeAll(async () => {
    site = await createSite();
  });
  afterAll(() => site?.close());

  it('prints a table at a terminal, JSON with --json and to programs', async () => {
    const created = await runCommand(['accounts', 'create', 'Ada'], { env: site.env, isTerminal: true });
    expect(created.stdout).toMatch(/^id +acct_\w+\nname +Ada\n/);
    const table = await runCommand(['accounts', 'list'], { env: site.env, isTerminal: true });
    expect(table.stdout).toMatch(/^id +name +plan +approval status +.*\nacct_\w+ +Ada /);
    for (const [args, isTerminal] of [[['--json'], true], [[], false], [['--json'], false]] as const) {
      const { stdout } = await runCommand(['accounts', 'list', ...args], { env: site.env, isTerminal });
      expect(JSON.parse(stdout)).toMatchObject([{ name: 'Ada' }]);
    }
  });

  it('moves credits once for an idempotency key, and refuses the key for others', async () => {
    const run = (...args: string[]) => runCommand(['accounts', ...args], { env: site.env });
    const { id } = JSON.parse((await run('create', 'Grace')).stdout) as { id: string };
    for (const [command, credits] of [['grant', 50], ['withdraw', 30]] as const) {
      const again = [command, id, '20', '--note', command, '--idempotency-key', `invoice 18 ${command}`];
      if (command === 'grant') await run('grant', id, '30');
      for (const _ of [1, 2]) expect(JSON.parse((await run(...again)).stdout)).toMatchObject({ id, credits });
      const other = await run(command, id, '21', '--idempotency-key', `invoice 18 ${command}`);
      expect([other.status, other.stderr]).toEqual([1, 'reelmend: This Idempotency-Key was used with another request body.\n']);
    }
    const { status, stderr } = await run('grant', id, '1', '--idempotency-key', ' spaced');
    expect([status, stderr]).toEqual([1, expect.stringContaining('Expected 1 to 255 printable ASCII characters')]);
  });

  it('deletes all jobs and uploads of an open account once it is confirmed', async () => {
    const run = (...args: string[]) => runCommand(['accounts', ...args], { env: site.env });
    const { id } = JSON.parse((await run('create', 'Joan')).stdout) as { id: string };
    const { store, close } = await openStore(loadConfig(site.env));
    try {
      await store.accounts.approve(id);
      await store.accounts.grant(id, 100);
      const account = (await store.accounts.get(id))!;
      const { job } = await store.jobs.create(jobInput(account));
      await store.uploads.create({ accountId: id, mode: 'live', fileName: 'a.mov', sizeBytes: 9, sha256: null, quotaBytes: 9 });

      const asked = await run('delete-jobs', id);
      expect(asked).toMatchObject({ status: 1, stdout: '', stderr: expect.stringMatching(/^reelmend: Deleting the jobs of acct_\w+ \(Joan\) .+; add --yes to confirm\.\n$/) });
      expect(await store.jobs.get(id, 'live', job.id)).not.toBeNull();
      const confirmed = await run('delete-jobs', id, '--yes');
      expect(JSON.parse(confirmed.stdout)).toMatchObject({ id, name: 'Joan', credits: 100, closedAt: null, deletedJobs: 1, deletedUploads: 1 });
      expect(JSON.parse((await run('delete-jobs', id, '--yes')).stdout)).toMatchObject({ deletedJobs: 0, deletedUploads: 0 });
      await store.accounts.close(id);
      expect(await run('delete-jobs', id, '--yes')).toEqual({ status: 1, stdout: '', stderr: `reelmend: The account ${id} is closed.\n` });
    } finally {
      await close();
    }
  });
});

describe('closing an account', () => {
  it('deletes what the account has, and only that, although something of another closed one cannot be deleted', async () => {
    const site = await createSite();
    const { store, close } = await openStore(loadConfig(site.env));
    const sql = postgres(site.databaseUrl, { max: 1 });
    try {
      const [before, ours] = await Promise.all(['Ada', 'Joan'].map((name) => store.accounts.create({ name })));
      for (const account of [before!, ours!]) {
        for (const name of ['a.mov', 'b.mov']) {
          await store.jobs.create(jobInput(account, { mode: 'test' }));
          await store.uploads.create({ accountId: account.id, mode: 'test', fileName: name, sizeBytes: 9, sha256: null, quotaBytes: 99 });
        }
      }
      await store.accounts.close(before!.id);
      await sql.unsafe(`CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'this job stays'; END $$;
        CREATE TRIGGER keep BEFORE UPDATE ON jobs FOR EACH ROW WHEN (old.account_id = '${before!.id}') EXECUTE FUNCTION keep()`);
      const { status, stdout, stderr } = await runCommand(['accounts', 'close', ours!.id, '--yes'], { env: site.env });
      expect([status, stderr]).toEqual([0, '']);
      expect(JSON.parse(stdout)).toMatchObject({ name: 'closed', deletedJobs: 2, deletedUploads: 2 });
    } finally {
      await sql.end();
      await close();
      await site.close();
    }
  });
});

describe('a command that looks in the wrong database', () => {
  it('names the folder of the embedded one', async () => {
    const env = { PATH: process.env['PATH']!, HOME: dir, REELMEND_DATA_DIR: join(dir, 'elsewhere') };
    const place = `the database of the data folder ${join(dir, 'elsewhere')}`;
    await (await openStore(loadConfig(env))).close();
    const unknown = {
      'job job_01jdq4s9xkf5v8t2m6w0c3rhbz': ['job', 'job_01jdq4s9xkf5v8t2m6w0c3rhbz'],
      'key key_01jdq4s9xkf5v8t2m6w0c3rhbz': ['keys', 'revoke', 'key_01jdq4s9xkf5v8t2m6w0c3rhbz'],
      'account acct_01jdq4s9xkf5v8t2m6w0c3rhbz': ['accounts', 'approve', 'acct_01jdq4s9xkf5v8t2m6w0c3rhbz'],
      'user ann@example.com': ['users', 'remove', 'ann@example.com'],
    };
    for (const [what, args] of Object.entries(unknown)) {
      expect(await runCommand(args, { env })).toEqual({ status: 1, stdout: '', stderr: `reelmend: There is no ${what} in ${place}.\n` });
    }
    for (const what of ['accounts', 'users', 'operators']) {
      expect(await runCommand([what, 'list'], { env, isTerminal: true })).toMatchObject({ status: 0, stdout: `There are no ${what} in ${place}.\n` });
      expect(await runCommand([what, 'list'], { env })).toMatchObject({ status: 0, stdout: '[]\n' });
    }
  });

  it.each([
    ['postgres://ann:geheim@db.example.com/reel%20mend', 'the database reel mend at db.example.com:5432'],
    ['postgres://ann:geheim@[::1]:6432/reelmend?sslmode=disable', 'the database reelmend at [::1]:6432'],
    ['postgres:///reelmend?host=/run/postgresql&user=ann&password=geheim', 'the database reelmend at /run/postgresql:5432'],
    ['postgres://ann:geheim@10.0.0.1', 'the database at 10.0.0.1:5432'],
  ])('names the server without the password: %s', (databaseUrl, place) => {
    expect(databaseOf({ databaseUrl, dataDir: '/data' } as Config)).toBe(place);
  });

  it('names the server of PGHOST and PGPORT for a URL without a host', async () => {
    const terminal = { env: { PGHOST: 'db.example.com', PGPORT: '6432' } } as unknown as Terminal;
    const place = () => Promise.resolve(databaseOf({ databaseUrl: 'postgres:///reelmend', dataDir: '/data' } as Config));
    expect(await atTerminal(terminal, place)).toBe('the database reelmend at db.example.com:6432');
  });
});

describe('the folder for data', () => {
  it('is .data in a checkout and where it is already, else that of the user', async () => {
    const [plain, checkout, used] = ['plain', 'checkout', 'used'].map((name) => join(dir, name));
    await mkdir(join(checkout!, 'scripts'), { recursive: true });
    await writeFile(join(checkout!, 'scripts', 'reelmend'), '');
    await mkdir(join(used!, '.data'), { recursive: true });
    expect(defaultDataDir({}, checkout)).toBe(join(checkout!, '.data'));
    expect(defaultDataDir({}, used)).toBe(join(used!, '.data'));
    expect(defaultDataDir({ HOME: '/home/ada' }, plain)).toBe('/home/ada/.local/share/reelmend');
    expect(defaultDataDir({ HOME: '/home/ada', XDG_DATA_HOME: '/data' }, plain)).toBe('/data/reelmend');
    expect(defaultDataDir({ HOME: '/home/ada', XDG_DATA_HOME: 'relative' }, plain)).toBe('/home/ada/.local/share/reelmend');
  });

  const noDatabase = (folder: string) =>
    `reelmend: There is no database in the data folder ${folder}: run the command in the folder of the service, or set REELMEND_DATA_DIR or DATABASE_URL as the service has them. A new service creates it at its first start.\n`;
  const home = async () => realpath(await mkdtemp(join(dir, 'home-')));
  const inFolder = async <T>(folder: string, work: () => Promise<T>): Promise<T> => {
    const cwd = process.cwd();
    process.chdir(folder);
    return work().finally(() => process.chdir(cwd));
  };

  it.each([
    ['is not made by a command', false],
    ['that other commands have made gets no database', true],
  ])('of the user %s that looks for a service in another folder', async (_what, exists) => {
    const empty = await home();
    const ofUser = join(empty, '.local', 'share', 'reelmend');
    if (exists) await mkdir(ofUser, { recursive: true });
    const env = { PATH: process.env['PATH']!, HOME: empty };
    await inFolder(empty, async () => {
      expect(await spawnCommand(['accounts', 'list'], { env })).toEqual({ status: 1, stdout: '', stderr: noDatabase(ofUser) });
      expect((await runCommand(['operators', 'add', 'ops@example.com'], { env })).stderr).toBe(noDatabase(ofUser));
      // Its queue would stay empty.
      expect(await spawnCommand(['work', '--once'], { env })).toEqual({ status: 1, stdout: '', stderr: noDatabase(ofUser) });
    });
    expect(exists ? await readdir(ofUser) : existsSync(join(empty, '.local'))).toEqual(exists ? [] : false);
  });

  const id = '01jdq4s9xkf5v8t2m6w0c3rhbz';
  const ofExisting = [
    ...[['approve'], ['reject'], ['set-plan', 'studio'], ['set-quotas', '--jobs-per-day', '5'], ['grant', '1'], ['withdraw', '1'], ['delete-jobs', '--yes'], ['close', '--yes']].map(([name, ...more]) => ['accounts', name!, `acct_${id}`, ...more]),
    ...[['keys', 'create'], ['keys', 'list'], ['audit', 'export'], ['certificates', 'export'], ['webhooks', 'secret']].map((words) => [...words, `acct_${id}`]),
    ...['reset-password', 'password-link', 'reset-two-factor', 'remove'].map((name) => ['users', name, 'ann@example.com']),
    ...['accounts', 'users', 'operators', 'signing-keys'].map((group) => [group, 'list']),
    ['users', 'invite', `acct_${id}`, 'ann@example.com'],
    ['operators', 'remove', 'ann@example.com'],
    ['keys', 'revoke', `key_${id}`],
    ['ledger', 'check'],
    ['signing-keys', 'rotate'],
    ['job', `job_${id}`],
  ];

  it.each(ofExisting.map((args) => [args.join(' '), args] as const))('that is new gets no database by: %s', async (_name, args) => {
    const folder = join(await home(), 'new');
    const env = { PATH: process.env['PATH']!, HOME: dir, REELMEND_DATA_DIR: folder };
    expect(await runCommand(args, { env })).toEqual({ status: 1, stdout: '', stderr: noDatabase(folder) });
    expect(existsSync(folder)).toBe(false);
  });

  it.each([
    ['accounts create', ['accounts', 'create', 'Ada']],
    ['users add', ['users', 'add', 'ann@example.com']],
    ['operators add', ['operators', 'add', 'ann@example.com']],
  ])('that is new gets a database by what may come before the first start: %s', async (_name, args) => {
    const env = { PATH: process.env['PATH']!, HOME: dir, REELMEND_DATA_DIR: join(await home(), 'new') };
    expect(await runCommand(args, { env })).toMatchObject({ status: 0, stderr: '' });
    expect(JSON.parse((await runCommand(['accounts', 'list'], { env })).stdout)).toHaveLength(1);
  });

  it.each(['start', 'serve', 'work'])('gets no new secrets by %s if the service of DATABASE_URL has others', async (command) => {
    const site = await createSite();
    await site.reelmend('accounts', 'create', 'Ada');
    const folder = join(await home(), 'other');
    const env = { ...site.env, REELMEND_DATA_DIR: folder };
    expect(await spawnCommand([command], { env })).toEqual({
      status: 1,
      stdout: '',
      stderr: `reelmend: There is no secrets.json in the data folder ${folder}, but a service uses the database: start in the folder of that service, or set REELMEND_DATA_DIR, or REELMEND_KEY_PEPPER as that service has it.\n`,
    });
    expect(existsSync(join(folder, 'secrets.json'))).toBe(false);
    await site.close();
  });

  it('keeps no server running after Ctrl-C, while the command opens its database or works, nor after the end of its reader', async () => {
    const folder = join(await home(), 'new');
    const server = join(folder, 'postgres', 'data', 'postmaster.pid');
    const env = { PATH: process.env['PATH']!, HOME: dir, REELMEND_DATA_DIR: folder };
    const child = spawn(script, ['accounts', 'create', 'Ada'], { env, stdio: 'ignore' });
    const ended = once(child, 'exit');
    await eventually(async () => (await readdir(join(folder, 'postgres', 'clients')).catch(() => [])).length > 0);
    expect(existsSync(server)).toBe(true);
    child.kill('SIGINT');
    expect(await ended).toEqual([130, null]);
    expect(existsSync(server)).toBe(false);
    const interrupt = () => void process.emit('SIGINT', 'SIGINT');
    expect(await runCommand(['accounts', 'create', 'Ada'], { env, onStdout: interrupt })).toMatchObject({ status: 130, stderr: 'reelmend: Interrupted.\n' });
    expect(existsSync(server)).toBe(false);
    // Where the reader of the output has exited, too.
    const { stderr } = await promisify(execFile)('bash', ['-c', '"$0" accounts list | true; echo "${PIPESTATUS[0]}" >&2', script], { env });
    expect(stderr).toBe('141\n');
    expect(existsSync(server)).toBe(false);
  });

  it('is the one that has the secrets of the service of DATABASE_URL', async () => {
    const site = await createSite();
    const folder = await home();
    const ofUser = join(folder, '.local', 'share', 'reelmend');
    const env = { ...site.env, HOME: folder, REELMEND_DATA_DIR: '' };
    const noSecrets = (dataDir: string) =>
      `reelmend: There is no secrets.json in the data folder ${dataDir}: run the command in the folder of the service, or set REELMEND_DATA_DIR, or REELMEND_KEY_PEPPER as the service has it.\n`;
    const { id } = await site.reelmend<{ id: string }>('accounts', 'create', 'Ada');
    await inFolder(folder, async () => {
      for (const args of [['keys', 'create', id], ['accounts', 'list'], ['accounts', 'create', 'Ada']]) {
        expect(await runCommand(args, { env })).toEqual({ status: 1, stdout: '', stderr: noSecrets(ofUser) });
      }
      const other = { ...env, REELMEND_DATA_DIR: join(folder, 'other') };
      expect((await runCommand(['accounts', 'list'], { env: other })).stderr).toBe(noSecrets(join(folder, 'other')));
      const { keyPepper, linkSecret } = await loadSecrets(loadConfig(site.env));
      const set = { ...env, REELMEND_KEY_PEPPER: keyPepper, REELMEND_LINK_SECRET: linkSecret };
      expect(await runCommand(['keys', 'create', id], { env: set })).toMatchObject({ status: 0, stderr: '' });
    });
    expect(await readdir(folder)).toEqual([]);
    // Where S3 signs the links, the pepper may be the only secret.
    const { keyPepper } = await loadSecrets(loadConfig(site.env));
    const alone = { ...env, REELMEND_DATA_DIR: await home(), REELMEND_KEY_PEPPER: keyPepper };
    expect(await runCommand(['keys', 'create', id], { env: alone })).toMatchObject({ status: 0, stderr: '' });
    await site.close();
  });
});

describe('the database of DATABASE_URL without a service', () => {
  let empty: Site;
  beforeAll(async () => {
    empty = await createSite({}, { migrated: false });
    await loadSecrets(loadConfig(empty.env));
  });
  afterAll(() => empty.close());

  it('gets tables only by what may come before the first start', async () => {
    const sql = postgres(empty.databaseUrl, { max: 1 });
    const tables = async () => (await sql`SELECT 1 FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`).length;
    try {
      for (const args of [['accounts', 'list'], ['ledger', 'check'], ['signing-keys', 'rotate']]) {
        const { status, stdout, stderr } = await runCommand(args, { env: empty.env });
        expect([status, stdout]).toEqual([1, '']);
        expect(stderr).toMatch(/^reelmend: There is no service in the database \w+ at [\w.]+:\d+: set DATABASE_URL as the service has it\. A new service creates its tables at its first start\.\n$/);
      }
      expect(await tables()).toBe(0);
      expect(await runCommand(['accounts', 'create', 'Ada'], { env: empty.env })).toMatchObject({ status: 0, stderr: '' });
      expect(await tables()).toBeGreaterThan(30);
      expect(JSON.parse((await runCommand(['accounts', 'list'], { env: empty.env })).stdout)).toHaveLength(1);
    } finally {
      await sql.end();
    }
  });
});
