/** Errors of queries end in the log and in the queue. They name the query, and no value of its parameters. */
import { PassThrough } from 'node:stream';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { connect, type Connection, databaseError, isDatabaseFault } from '../../src/store/database.ts';
import { sql } from '../../src/store/orm.ts';
import { accounts } from '../../src/store/schema.ts';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';

const canary = 'canary7f3a';

let database: TestDatabase;
let connection: Connection;
let log: string;
const stream = new PassThrough().on('data', (chunk: Buffer) => (log += chunk.toString()));
const logger = pino(stream);
beforeAll(async () => {
  database = await createTestDatabase();
  connection = connect({ url: database.url, max: 1 });
  await connection.sql`CREATE TABLE names (name text UNIQUE CHECK (length(name) < 20), trusted boolean)`;
  await connection.sql.unsafe(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'the row is refused'; END $$;
    CREATE TRIGGER refuse BEFORE INSERT ON accounts FOR EACH ROW EXECUTE FUNCTION refuse()`);
});
beforeEach(() => (log = ''));
afterAll(async () => {
  await connection.close();
  await database.drop();
});

const insertName = (name: string) => connection.db.execute(sql`INSERT INTO names (name) VALUES (${name})`);

const failures: Record<string, { query: () => Promise<unknown>; state: string; reason: string }> = {
  'raised by a trigger': {
    query: async () => connection.db.insert(accounts).values({ id: canary, name: canary }),
    state: 'P0001',
    reason: 'the row is refused',
  },
  'in a transaction': {
    query: () => connection.db.transaction((tx) => tx.insert(accounts).values({ id: canary, name: canary })),
    state: 'P0001',
    reason: 'the row is refused',
  },
  'of a unique constraint': {
    query: () => insertName(canary).then(() => insertName(canary)),
    state: '23505',
    reason: 'duplicate key value violates unique constraint "names_name_key"',
  },
  'of a check constraint': {
    query: () => insertName(`${canary} ${canary}`),
    state: '23514',
    reason: 'violates check constraint "names_name_check"',
  },
  'of a value that is none of its type': {
    query: () => connection.db.execute(sql`SELECT (${canary} || '"')::int`),
    state: '22P02',
    reason: 'invalid input syntax for type integer: "…"',
  },
};

describe('an error', () => {
  it.each(Object.entries(failures))('%s names the query and the reason, and no parameter', async (_name, { query, state, reason }) => {
    const error = await query().then(() => undefined, (thrown: Error) => thrown);
    expect(error?.message).toMatch(/^Failed query: (insert into "accounts"|INSERT INTO names|SELECT)/);
    expect(databaseError(error)?.code).toBe(state);
    expect(databaseError(error)?.message).toContain(reason);
    logger.error({ err: error }, 'failed');
    logger.error({ err: databaseError(error) }, 'failed');
    logger.error({ err: new AggregateError([error], String(error)) }, 'failed');
    expect(log.split('\n')).toHaveLength(4);
    expect(log).toContain('query-errors.test.ts');
    expect(log).not.toContain(canary);
  });

  it('of a connection is still a fault of the database', async () => {
    const lost = connect({ url: database.url.replace(/:\d+\//, ':1/'), max: 1, connectTimeoutS: 1 });
    const error = await lost.db.execute(sql`SELECT ${canary}`).then(() => undefined, (thrown: Error) => thrown);
    await lost.close();
    expect(isDatabaseFault(error)).toBe(true);
    expect(error?.message).not.toContain(canary);
  });
});
