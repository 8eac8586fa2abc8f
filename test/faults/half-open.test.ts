/**
 * Connections to PostgreSQL that receive nothing any more and that nobody closes: a firewall that forgot them, a cable that
 * is out, a proxy that hangs. Both sides give them up by themselves within a stated time.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { sql as query } from 'drizzle-orm';
import pg from 'pg';
import postgres from 'postgres';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { connect, type Connection, readSlowly, transact } from '../../src/store/database.ts';
import { createStore, migrate, NotificationListener } from '../../src/store/index.ts';
import { applySessionSettings, sessionSettings } from '../../src/store/session-settings.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { startPgBouncer } from '../helpers/pgbouncer.ts';
import { eventually, hangMs } from '../helpers/wait.ts';
import { Wire } from '../helpers/wire.ts';
import { createWorkshop, enhanceResult } from '../helpers/worker-fakes.ts';
import { createWorld, fundedAccount, jobInput, testCipher, type World } from '../helpers/worker-world.ts';

const silenceTimeoutS = 1;

let world: World;
let wire: Wire;
let url: string;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());
beforeEach(async () => {
  wire = new Wire(new URL(world.url));
  url = await wire.listen();
});
afterEach(() => wire.close());

const select = ({ db }: Connection) => db.execute(query`SELECT 1`).then(() => true, () => false);

const losses = [
  { name: 'forgotten, while others can be made', lose: () => wire.forget() },
  { name: 'silent, as all others, for a while', lose: () => wire.silence() },
];

describe.each(losses)('connections that are $name', ({ lose }) => {
  it('are replaced by the pool: queries and transactions fail, and work again', async () => {
    const connection = connect({ url, max: 2, silenceTimeoutS });
    try {
      await Promise.all([select(connection), transact(connection.db, (tx) => tx.execute(query`SELECT pg_sleep(0.1)`))]);
      const begun = Promise.withResolvers<void>();
      const inTransaction = transact(connection.db, async (tx) => {
        await tx.execute(query`SELECT 1`);
        begun.resolve();
        await sleep(100);
        await tx.execute(query`SELECT 2`);
      }).then(() => 'done', () => 'failed');
      await begun.promise;
      lose();
      const pipelined = await Promise.all([...Array.from({ length: 4 }, () => select(connection)), inTransaction]);
      expect(pipelined.slice(0, -1)).toContain(false);
      expect(pipelined.at(-1)).toBe('failed');
      wire.mend();
      await eventually(() => select(connection), 'a query is answered again');
    } finally {
      await connection.close();
    }
  });

  it('are replaced by a worker, which loses no job over it', async () => {
    const store = createStore({ url, cipher: testCipher, maxConnections: 2, silenceTimeoutS });
    const shop = await createWorkshop(world, { scheduled: false });
    try {
      const account = await fundedAccount(world.store, 60);
      const goOn = Promise.withResolvers<void>();
      shop.media.onEnhance = async () => goOn.promise.then(() => enhanceResult);
      await shop.worker({ deps: { databaseUrl: url, store, silenceTimeoutS }, tuning: { pollIntervalMs: 200 } }).start();
      const { job } = await world.store.jobs.create(jobInput(account));
      await eventually(() => shop.media.running === 1);
      lose();
      // Nothing of its own tells the worker to look for other connections, but its polls and heartbeats.
      await sleep(2000 * silenceTimeoutS);
      wire.mend();
      const next = (await world.store.jobs.create(jobInput(account))).job;
      const isDone = (id: string) => eventually(async () => (await world.store.jobs.get(account.id, 'live', id))?.status === 'done');
      goOn.resolve();
      await isDone(job.id);
      await isDone(next.id);
      expect(shop.media.enhancements).toHaveLength(2);
      expect(await world.store.ledgerCheck()).toEqual([]);
    } finally {
      await shop.close();
      await store.close();
    }
  });

  it('are replaced by a listener', async () => {
    const heard: string[] = [];
    let listening = 0;
    const listener = new NotificationListener({
      url,
      channels: ['half_open'],
      applicationName: 'half-open',
      silenceTimeoutS,
      onNotification: ({ payload }) => heard.push(payload!),
      onListening: () => void listening++,
    });
    try {
      await listener.open();
      lose();
      await sleep(1000 * silenceTimeoutS);
      wire.mend();
      await eventually(() => listening === 2, 'it listens again');
      await world.sql`SELECT pg_notify('half_open', 'news')`;
      await eventually(() => heard.includes('news'));
    } finally {
      await listener.close();
    }
  });
});

it('a connection that answers, and one that is idle, stay', async () => {
  const connection = connect({ url, max: 1, silenceTimeoutS: 0.5 });
  const pid = async () => (await connection.sql<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`)[0]!.pid;
  try {
    const first = await pid();
    await sleep(1200);
    // Each answer of a pipeline starts the time again.
    await Promise.all(Array.from({ length: 4 }, () => connection.sql`SELECT pg_sleep(0.3)`));
    expect(await pid()).toBe(first);
    // A slow read may be silent for longer.
    await readSlowly(connection.db, (tx) => tx.execute(query`SELECT pg_sleep(1.2)`));
    expect(await pid()).toBe(first);
    await expect(connection.sql`SELECT pg_sleep(${hangMs / 1000})`).rejects.toMatchObject({ code: 'CONNECTION_SILENT' });
    expect(await pid()).not.toBe(first);
  } finally {
    await connection.close();
  }
});

it('a forgotten connection to a pooler is replaced, too', async () => {
  const pooler = await startPgBouncer(world.url, 'transaction', 4);
  const toPooler = new Wire(new URL(pooler.url));
  const connection = connect({ url: await toPooler.listen(), max: 1, isPooled: true, silenceTimeoutS });
  try {
    expect(await select(connection)).toBe(true);
    toPooler.forget();
    expect(await select(connection)).toBe(false);
    expect(await eventually(() => select(connection))).toBe(true);
  } finally {
    await connection.close();
    toPooler.close();
    await pooler.close();
  }
});

describe('the server', () => {
  it('frees the locks of a client that is gone without a word', async () => {
    const database = await createTestDatabase();
    const admin = postgres(database.url, { max: 1, onnotice: () => {} });
    const toDatabase = new Wire(new URL(database.url));
    const client = new pg.Client({ connectionString: await toDatabase.listen() });
    client.on('error', () => {});
    try {
      // The service waits for a minute.
      await admin.unsafe(`ALTER ROLE SESSION_USER IN DATABASE ${new URL(database.url).pathname.slice(1)} SET idle_in_transaction_session_timeout = '1s'`);
      await migrate({ url: database.url });
      await client.connect();
      await client.query('BEGIN; SELECT pg_advisory_xact_lock(7)');
      toDatabase.forget();
      expect((await admin`SELECT pg_try_advisory_lock(7) AS got`)[0]).toEqual({ got: false });
      await admin`SELECT pg_advisory_lock(7)`;
    } finally {
      toDatabase.close();
      await admin.end({ timeout: 5 });
      await database.drop();
    }
  });

  it('has the settings for that in all sessions of the service, but those that the operator has made', async () => {
    const database = await createTestDatabase();
    const settings = async () => {
      const sql = postgres(database.url, { max: 1, onnotice: () => {} });
      const rows = await sql<{ name: string; setting: string }[]>`SELECT name, current_setting(name) AS setting FROM pg_settings WHERE name = ANY (${Object.keys(sessionSettings)})`;
      await applySessionSettings(sql);
      await sql.end({ timeout: 5 });
      return Object.fromEntries(rows.map(({ name, setting }) => [name, setting]));
    };
    try {
      const admin = postgres(database.url, { max: 1, onnotice: () => {} });
      await admin.unsafe(`ALTER DATABASE ${new URL(database.url).pathname.slice(1)} SET idle_in_transaction_session_timeout = '7s'`);
      await admin.end({ timeout: 5 });
      await settings();
      const expected = { ...sessionSettings, tcp_keepalives_idle: '30', tcp_keepalives_interval: '10', tcp_user_timeout: '60000', idle_in_transaction_session_timeout: '7s' };
      expect(await settings()).toEqual(expected);
    } finally {
      await database.drop();
    }
  });
});
