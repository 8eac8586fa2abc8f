/** The audit log in the database: every entry is linked to the one before, and none can be changed. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { genesisHash, hashAuditEntry } from '../../src/domain/audit.ts';
import { newId } from '../../src/domain/ids.ts';
import { signHead, verifyAuditLog } from '../../src/evidence/audit-log.ts';
import { generateSigningKey } from '../../src/evidence/signing-keys.ts';
import type { Store } from '../../src/store/index.ts';
import { auditLog, createWorld, fundedAccount, jobInput, type World } from '../helpers/worker-world.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

/** Exports the log, signs its head, and returns the result of the offline verifier. */
async function verifyLog(store: Store, accountId: string) {
  const key = await generateSigningKey();
  const { entries, head } = await auditLog(store, accountId);
  const signed = await signHead({ account_id: accountId, ...head, signed_at: new Date().toISOString() }, key);
  return verifyAuditLog({ entries, head: signed }, { keys: [key.publicJwk] });
}

describe('the audit log', () => {
  it('is one chain, whoever writes at the same time', async () => {
    const account = await fundedAccount(world.store, 3000);
    const jobs = await Promise.all(Array.from({ length: 40 }, () => world.store.jobs.create(jobInput(account))));
    await Promise.all([
      ...jobs.map(({ job }) => world.store.jobs.delete(account.id, 'live', job.id)),
      world.store.audit.record({ accountId: account.id, kind: 'result.accessed', data: { days: 3, x: 1.5e300 } }),
      world.store.audit.record({ accountId: account.id, kind: 'result.accessed', jobId: jobs[0]!.job.id }),
    ]);
    expect(await verifyLog(world.store, account.id)).toMatchObject({ ok: true, size: 3 + 40 + 40 + 2 });
    expect(await world.store.ledgerCheck()).toEqual([]);
  });

  it('is read newest first in pages with the head of the whole', async () => {
    const account = await fundedAccount(world.store, 60);
    const { job } = await world.store.jobs.create(jobInput(account));
    const first = await world.store.audit.list({ accountId: account.id, limit: 3 });
    expect(first).toMatchObject({ hasMore: true, head: { size: 4, hash: first.entries[0]!.hash } });
    expect(first.entries.map(({ sequence, kind }) => `${sequence} ${kind}`)).toEqual([
      '4 job.created',
      '3 account.approved',
      '2 credits.granted',
    ]);
    const { hash, ...content } = first.entries[0]!;
    expect(hashAuditEntry(content)).toBe(hash);
    const rest = await world.store.audit.list({ accountId: account.id, limit: 3, startingAfter: 2 });
    expect(rest).toMatchObject({ hasMore: false, head: first.head, entries: [{ previous_hash: genesisHash }] });
    const ofJob = await world.store.audit.list({ accountId: account.id, limit: 9, jobId: job.id });
    expect(ofJob.entries.map(({ kind }) => kind)).toEqual(['job.created']);
    const nobody = await world.store.audit.list({ accountId: 'acct_00000000000000000000000000', limit: 3 });
    expect(nobody).toEqual({ entries: [], hasMore: false, head: { size: 0, hash: genesisHash } });
  });

  for (const [what, statement] of [
    ['changed', 'UPDATE job_events SET data = \'{"credits": 1}\''],
    ['given another hash', "UPDATE job_events SET hash = repeat('a', 64)"],
    ['dropped', 'DELETE FROM job_events'],
    ['truncated', 'TRUNCATE job_events'],
    ['given another head', "UPDATE event_heads SET hash = repeat('a', 64)"],
    ['given a head two further', 'UPDATE event_heads SET seq = seq + 2'],
    ['given a head without an entry', "UPDATE event_heads SET seq = seq + 1, hash = repeat('a', 64)"],
    ['continued from elsewhere', 'inserted without the head'],
  ] as const) {
    it(`cannot be ${what}`, async () => {
      const { id } = await fundedAccount(world.store, 1);
      const insert = `INSERT INTO job_events (account_id, seq, id, kind, at, previous_hash, hash)
        VALUES ('${id}', 4, '${newId('evt')}', 'x', '2026-01-01', repeat('0', 64), repeat('a', 64))`;
      const query = statement.startsWith('inserted') ? insert : statement;
      await expect(world.sql.unsafe(query)).rejects.toMatchObject({ code: '23001' });
      expect(await verifyLog(world.store, id)).toMatchObject({ ok: true });
    });
  }
});
