/**
 * The commands of docs/backup.md that list the stored objects which a restored database does not know. A shell goes on after a command
 * that failed, so a failure must not leave a list that calls every object unknown.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readMarkdown } from './markdown.ts';

const run = promisify(execFile);
const { text: commands } = readMarkdown('docs/backup.md').blocks.find(({ text }) => text.includes('comm -23'))!;

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'reelmend-docs-unknown-'));
  await writeFile(join(dir, 'unknown.txt'), 'jobs/of-an-earlier-run\n');
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const listing = String.raw`printf 'uploads/u\njobs/b\njobs/a\n'`;
const keys = String.raw`printf 'uploads/u\njobs/a\n' > "$3"`;

/** Runs the commands with these programs in place of the real ones; returns the list, null if there is none. */
async function follow({ rclone = listing, psql = keys }): Promise<string | null> {
  for (const [name, text] of Object.entries({ rclone, psql })) await writeFile(join(dir, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  const env = { PATH: `${dir}:${process.env['PATH']}`, AGE: '2h', S3_BUCKET: 'b', S3_ENDPOINT: 'http://127.0.0.1:9', DATABASE_URL: 'postgres://x' };
  await run('bash', ['-c', commands], { cwd: dir, env }).catch(() => undefined);
  return readFile(join(dir, 'unknown.txt'), 'utf8').catch(() => null);
}

describe('the list of unknown objects', () => {
  it('contains the stored objects whose key the database lacks', async () => {
    expect(await follow({})).toBe('jobs/b\n');
  });

  it.for([
    ['psql fails', { psql: ': > "$3"; exit 2' }],
    ['psql fails after a part of the keys', { psql: 'echo jobs/a > "$3"; exit 2' }],
    ['rclone fails after a part of the objects', { rclone: 'echo jobs/a; exit 1' }],
  ] as const)('does not exist if %s', async ([, programs]) => {
    expect(await follow(programs)).toBeNull();
  });
});
