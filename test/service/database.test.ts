/** The embedded PostgreSQL, shared by the processes of one machine. */
import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '../../src/database.ts';

let dataDir: string;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'framelift-embedded-'));
});
afterAll(() => rm(dataDir, { recursive: true, force: true }));

const open = () => openDatabase({ databaseUrl: undefined, dataDir });
const guests = () => readdir(join(dataDir, 'postgres', 'guests'));

async function answers({ url }: Database): Promise<boolean> {
  const sql = postgres(url, { max: 1, connect_timeout: 5 });
  try {
    return (await sql`SELECT 1 AS one`)[0]?.['one'] === 1;
  } catch {
    return false;
  } finally {
    await sql.end({ timeout: 1 });
  }
}

describe('the embedded PostgreSQL', { timeout: 300_000 }, () => {
  it('is made once by processes that start together, and stopped by the last to leave', async () => {
    const [first, second] = await Promise.all([open(), open()]);
    expect(first.url).toBe(second.url);
    await first.stop();
    expect(await answers(second)).toBe(true);
    await second.stop();
    expect(await answers(second)).toBe(false);
    expect(await guests()).toEqual([]);
  });

  it('comes back at the address where others wait for it', async () => {
    const before = await open();
    await before.stop();
    const after = await open();
    expect(after.url).toBe(before.url);
    expect(await answers(before)).toBe(true);
    await after.stop();
  });

  it('is stopped by the next who leaves after a process was killed', async () => {
    await open();
    // As a killed process leaves it: the server runs, and its file names nobody who lives.
    const { pid } = spawnSync('true');
    for (const name of await guests()) await rm(join(dataDir, 'postgres', 'guests', name));
    await writeFile(join(dataDir, 'postgres', 'guests', `${pid}-0a1b2c3d`), '');
    const next = await open();
    expect(await answers(next)).toBe(true);
    await next.stop();
    expect(await answers(next)).toBe(false);
    expect(await guests()).toEqual([]);
  });
});
