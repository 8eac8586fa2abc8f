/** The units of deploy/systemd with systemd, as docs/install.md says: on a copy of this machine that scripts/test-systemd makes. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { createTestDatabase } from '../helpers/database.ts';
import { isLongRun } from '../helpers/long-run.ts';
import { freePorts } from '../helpers/ports.ts';

const canRun = isLongRun && process.getuid?.() === 0 && existsSync('/lib/systemd/systemd');
if (isLongRun && !canRun) console.warn('systemd needs root, and has to be installed: its units are NOT tested with it');

describe.skipIf(!canRun)('the units of systemd', () => {
  it('run as the guide says: a job, metrics, a worker that is killed, an upgrade', async () => {
    const database = await createTestDatabase({ migrated: false });
    try {
      const env = { ...process.env, DATABASE_URL: database.url, PORT: String(await freePorts(3)) };
      const { stdout } = await promisify(execFile)('scripts/test-systemd', { env });
      expect(stdout).toContain('passed');
    } finally {
      await database.drop();
    }
  });
});
