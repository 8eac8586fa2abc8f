/** Rows that nobody may change or delete, whatever the statement: the books, the audit log, and states of jobs that have passed. */
import { describe, expect, it } from 'vitest';
import { setUpStore } from '../helpers/store-suite.ts';
import { fundedAccount, jobInput, type World } from '../helpers/worker-world.ts';

let world: World;
setUpStore((made) => (world = made));

describe('what is written stays', () => {
  for (const statement of [
    'UPDATE ledger_transfers SET credits = credits + 1',
    'DELETE FROM ledger_transfers',
    'UPDATE ledger_entries SET amount = 1',
    'DELETE FROM ledger_entries',
    'TRUNCATE ledger_entries',
    "UPDATE job_events SET kind = 'x'",
    'DELETE FROM job_events',
    'TRUNCATE job_events CASCADE',
    'DELETE FROM event_heads',
    'UPDATE event_heads SET seq = seq + 2',
    'DELETE FROM jobs',
  ]) {
    it(`${statement} is refused`, async () => {
      await fundedAccount(world.store, 1);
      await expect(world.sql.unsafe(statement)).rejects.toMatchObject({ code: '23001' });
    });
  }

  it('a balance cannot fall below zero, a transfer cannot be one-sided', async () => {
    const account = await fundedAccount(world.store, 1);
    await expect(world.sql`UPDATE accounts SET credits = -1 WHERE id = ${account.id}`).rejects.toMatchObject({
      code: '23514',
    });
    await expect(
      world.sql`INSERT INTO ledger_transfers (kind, account_id, credits) VALUES ('grant', ${account.id}, 5)`,
    ).rejects.toMatchObject({ code: '23514' });
  });

  it('a job never moves back', async () => {
    const account = await fundedAccount(world.store, 30);
    const { job } = await world.store.jobs.create(jobInput(account));
    const { fence } = (await world.store.leases.acquire(job.id, 'ingest', 'w', 20))!;
    await expect(world.sql`UPDATE jobs SET status = 'queued' WHERE id = ${job.id}`).rejects.toMatchObject({
      code: '23001',
    });
    await world.store.leases.fail(fence, { code: 'unreadable_video', message: 'No.' });
    await expect(world.sql`UPDATE jobs SET attempt = 0 WHERE id = ${job.id}`).rejects.toMatchObject({ code: '23001' });
  });

  it('the check of the books names what is wrong', async () => {
    const account = await fundedAccount(world.store, 30);
    await world.sql`UPDATE accounts SET credits = credits + 5 WHERE id = ${account.id}`;
    expect(await world.store.ledgerCheck()).toEqual([
      { rule: 'a balance is the sum of its entries', subject: account.id, detail: '35 <> 30' },
    ]);
    await world.sql`UPDATE accounts SET credits = credits - 5 WHERE id = ${account.id}`;
  });
});
