/**
 * Connections to the database that break in the middle of a transaction (patches/README.md): the process lives on
 * (an exception of the driver's own would fail this file), nothing is half done, and the connection comes back.
 */
import { type AddressInfo, connect as dial, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { connect, type Connection, transact, type Tx } from '../../src/store/database.ts';
import { eventually, hangMs } from '../helpers/wait.ts';
import { createWorld, type World } from '../helpers/worker-world.ts';

let world: World;
let proxy: Server;
let url: string;
/** of the connections that are open, this side's */
const near = new Set<Socket>();
/** by which the server knows them */
const farPorts = new Set<number>();
/** a new connection breaks off after so many bytes from the server; undefined: never */
let breakAfter: number | undefined;

beforeAll(async () => {
  world = await createWorld();
  await world.sql`CREATE TABLE marks (mark text NOT NULL)`;
  const { port, hostname } = new URL(world.url);
  proxy = createServer((socket) => {
    const far = dial(Number(port), hostname);
    near.add(socket);
    far.once('connect', () => farPorts.add(far.localPort!));
    let bytes = 0;
    far.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (breakAfter !== undefined && bytes > breakAfter) socket.destroy();
      else socket.write(chunk);
    });
    socket.on('data', (chunk: Buffer) => far.write(chunk));
    for (const [one, other] of [[socket, far], [far, socket]] as const) {
      one.on('error', () => other.destroy());
      one.on('close', () => {
        other.destroy();
        near.delete(socket);
        farPorts.clear();
      });
    }
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const address = new URL(world.url);
  address.port = String((proxy.address() as AddressInfo).port);
  url = address.href;
});
afterAll(async () => {
  proxy.close();
  await world.close();
});

let connection: Connection;
beforeEach(async () => {
  breakAfter = undefined;
  // Of a client that is gone a sleeping query takes no notice.
  await world.sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()`;
  await world.sql`TRUNCATE marks`;
  // One connection, so that whatever comes next must use the one that broke.
  // Whoever waits for the end of an attempt to connect fails the test.
  connection = connect({ url, max: 1, connectTimeoutS: (10 * hangMs) / 1000 });
});
afterEach(() => connection.close());

const mark = (tx: Tx, text: string) => tx.execute(sql`INSERT INTO marks VALUES (${text})`);
const marks = async () => (await world.sql`SELECT mark FROM marks ORDER BY 1`).map((row) => row['mark'] as string);
const terminate = async () => void (await world.sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE client_port = ANY(${[...farPorts]})`);

const breaks: { name: string; make: () => unknown }[] = [
  { name: 'is ended by the server', make: terminate },
  { name: 'is reset', make: () => near.forEach((socket) => socket.resetAndDestroy()) },
  { name: 'is closed', make: () => near.forEach((socket) => socket.destroy()) },
];

describe.each(breaks)('a transaction whose connection $name', ({ make }) => {
  async function expectAlive(): Promise<void> {
    await eventually(() => transact(connection.db, (tx) => mark(tx, 'next')).then(() => true, () => false));
    expect(await marks()).toEqual(['next']);
  }

  it('in mid-query fails, does nothing, and the next one runs', async () => {
    const failed = transact(connection.db, async (tx) => {
      await mark(tx, 'lost');
      setTimeout(() => void make(), 50);
      await tx.execute(sql`SELECT pg_sleep(${hangMs / 1000})`);
    });
    await expect(failed).rejects.toThrow();
    await expectAlive();
  });

  it('between two queries fails, and what it still asks for is refused', async () => {
    let late: unknown;
    let ended = () => {};
    const over = new Promise<void>((resolve) => (ended = resolve));
    const failed = transact(connection.db, async (tx) => {
      await mark(tx, 'lost');
      await make();
      await sleep(300);
      // Somebody else has the connection meanwhile.
      late = await mark(tx, 'too late').then(() => 'done', (error: unknown) => error);
      ended();
    });
    await expect(failed).rejects.toThrow();
    const other = transact(connection.db, (tx) => tx.execute(sql`SELECT pg_sleep(0.5)`)).catch(() => {});
    await over;
    await other;
    expect(late).toBeInstanceOf(Error);
    await expectAlive();
  });
});

it('a connection that breaks at whatever moment of its beginning is made again', async () => {
  for (let limit = 0; limit < 900; limit += 60) {
    breakAfter = limit;
    const fresh = connect({ url, max: 1 });
    const first = transact(fresh.db, (tx) => tx.execute(sql`SELECT 1`)).then(() => 'done', () => 'failed');
    await Promise.race([first, sleep(200)]);
    breakAfter = undefined;
    await eventually(() => transact(fresh.db, (tx) => tx.execute(sql`SELECT 1`)).then(() => true, () => false));
    await fresh.close();
  }
});
