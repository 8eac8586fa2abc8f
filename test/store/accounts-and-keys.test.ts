/** Accounts, their credits and their keys in the store. */
import { describe, expect, it } from 'vitest';
import { eventKinds, setUpStore } from '../helpers/store-suite.ts';
import { auditEntries, fundedAccount, jobInput, randomHash, type World } from '../helpers/worker-world.ts';

let world: World;
setUpStore((made) => (world = made));

describe('accounts and keys', () => {
  it('start pending without live credits and keep their test credits', async () => {
    const account = await world.store.accounts.create({ name: 'New' });
    expect(account).toMatchObject({ approvalStatus: 'pending', credits: 0, retentionDays: 30 });
    expect(await world.store.accounts.get(account.id)).toEqual(account);
  });

  it('grants add up, approval is noted once', async () => {
    const account = await fundedAccount(world.store, 40);
    await world.store.accounts.approve(account.id);
    const granted = await world.store.accounts.grant(account.id, 2, 'thanks');
    expect(granted?.credits).toBe(42);
    expect(await eventKinds(world, account.id)).toEqual([
      'account.created',
      'credits.granted',
      'account.approved',
      'credits.granted',
    ]);
  });

  it('nothing can be granted to nobody, and nothing but whole credits', async () => {
    expect(await world.store.accounts.grant('acct_00000000000000000000000000', 1)).toBeNull();
    expect(() => world.store.accounts.grant('x', 0.5)).toThrow(RangeError);
  });

  it('what was granted too much is taken back, and no more than is left', async () => {
    const account = await fundedAccount(world.store, 40);
    const { job } = await world.store.jobs.create(jobInput(account));
    const left = 40 - job.creditsCharged;
    const refused = world.store.accounts.withdraw(account.id, left + 1);
    await expect(refused).rejects.toMatchObject({
      code: 'insufficient_credits',
      message: `The account has ${left} credits, not ${left + 1}.`,
    });
    const before = await world.store.ledgerSums();
    expect(await world.store.accounts.withdraw(account.id, left, 'granted twice')).toMatchObject({ credits: 0 });
    const after = await world.store.ledgerSums();
    expect(after.kinds.withdrawal - before.kinds.withdrawal).toBe(left);
    expect(after.books.issued - before.books.issued).toBe(left);
    expect(after.total).toBe(0);
    const [line] = await world.store.statements.ledger({ accountId: account.id, limit: 1 });
    expect(line).toMatchObject({ kind: 'withdrawal', amount: -left, balance: 0, jobId: null, note: 'granted twice' });
    expect((await eventKinds(world, account.id)).at(-1)).toBe('credits.withdrawn');
  });

  it('nothing can be taken from nobody', async () => {
    expect(await world.store.accounts.withdraw('acct_00000000000000000000000000', 1)).toBeNull();
    expect(() => world.store.accounts.withdraw('x', -1)).toThrow(RangeError);
  });

  it('a closed one has no keys, no users and no name any more, its jobs are refunded and deleted, its books are kept', async () => {
    const { accounts, keys, users, jobs, operations } = world.store;
    const account = await fundedAccount(world.store, 40);
    const other = await fundedAccount(world.store, 40);
    const hash = randomHash();
    await keys.create({ accountId: account.id, mode: 'live', tier: 'standard', hash, lastFour: 'abcd', name: 'of Jane' });
    const user = await users.create({ email: 'leaves@example.com', password: '$argon2id$quick$', account: { id: account.id } });
    const tokenHash = randomHash();
    await users.openSession({ userId: user!.id, tokenHash, userAgent: '', password: '$argon2id$quick$', withCode: false });
    const queued = [jobInput(account), jobInput(account, { mode: 'test' })];
    const made = await Promise.all(queued.map((input) => jobs.create(input)));
    const { job: kept } = await jobs.create(jobInput(other));

    const [closed] = await Promise.all([accounts.close(account.id), accounts.close(account.id)]);
    expect(closed).toMatchObject({ name: 'closed', approvalStatus: 'rejected', closedAt: expect.any(Date) });
    expect(await keys.authenticate(hash)).toBeNull();
    expect(await keys.list(account.id)).toMatchObject([{ name: '' }]);
    expect(await users.byEmail('leaves@example.com')).toBeNull();
    expect(await users.identify(tokenHash)).toBeNull();
    expect(await operations.account(account.id)).toBeNull();
    const listed = (await operations.accounts({ limit: 1000 })).map(({ id }) => id);
    expect([listed.includes(account.id), listed.includes(other.id)]).toEqual([false, true]);

    expect((await jobs.deleteOfClosed(1)).done.length + (await jobs.deleteOfClosed(200)).done.length).toBe(2);
    expect((await jobs.deleteOfClosed(200)).found).toBe(0);
    for (const { job } of made) expect(await jobs.get(account.id, job.mode, job.id)).toBeNull();
    expect(await jobs.get(other.id, 'live', kept.id)).not.toBeNull();
    expect(await accounts.get(account.id)).toMatchObject({ credits: 40 });
    const kinds = await eventKinds(world, account.id);
    expect(kinds.filter((kind) => kind === 'account.closed')).toHaveLength(1);
    const deleted = await auditEntries(world.store, { accountId: account.id, jobId: made[0]!.job.id, limit: 1 });
    expect(deleted[0]).toMatchObject({ kind: 'job.deleted', data: { by: 'operator' } });

    // It stays closed.
    const nothing = [
      accounts.approve(account.id),
      accounts.grant(account.id, 1),
      accounts.withdraw(account.id, 1),
      accounts.setPlan(account.id, 'studio'),
      accounts.setQuotas(account.id, { jobs_per_day: 1 }),
      accounts.close('acct_00000000000000000000000000'),
    ];
    expect(await Promise.all(nothing)).toEqual(nothing.map(() => null));
    const again = await users.create({ email: 'leaves@example.com', password: '$argon2id$quick$', account: { name: 'Anew' } });
    expect(again?.accountId).not.toBe(account.id);
  });

  it('a rotated key and its successor both work until the overlap ends', async () => {
    const account = await fundedAccount(world.store, 1);
    const [first, second, third] = [randomHash(), randomHash(), randomHash()];
    const { id } = await world.store.keys.create({
      accountId: account.id,
      mode: 'test',
      tier: 'secure',
      lastFour: 'aaaa',
      hash: first,
    });
    const rotated = (await world.store.keys.rotate(id, { hash: second, lastFour: 'bbbb', overlapDays: 7 }))!;
    expect(rotated.fresh).toMatchObject({ mode: 'test', tier: 'secure', lastFour: 'bbbb', expiresAt: null });
    expect(await world.store.keys.authenticate(first)).toMatchObject({ keyId: id });
    expect(await world.store.keys.authenticate(second)).toMatchObject({ keyId: rotated.fresh.id, tier: 'secure' });
    await world.sql`UPDATE api_keys SET expires_at = expires_at - interval '7 days' WHERE id = ${id}`;
    expect(await world.store.keys.authenticate(first)).toBeNull();
    expect(await world.store.keys.rotate(id, { hash: third, lastFour: 'cccc', overlapDays: 0 })).toBeNull();
    // A second rotation only shortens what the first one left.
    const again = (await world.store.keys.rotate(rotated.fresh.id, { hash: third, lastFour: 'cccc', overlapDays: 2 }))!;
    await world.store.keys.rotate(rotated.fresh.id, { hash: randomHash(), lastFour: 'dddd', overlapDays: 7 });
    const kept = (await world.store.keys.list(account.id)).find((key) => key.id === rotated.fresh.id);
    expect(kept?.expiresAt).toEqual(again.old.expiresAt);
    for (const overlapDays of [-1, 8, 0.5]) {
      await expect(
        world.store.keys.rotate(again.fresh.id, { hash: first, lastFour: 'eeee', overlapDays }),
      ).rejects.toThrow(RangeError);
    }
    expect(await eventKinds(world, account.id)).toContain('key.rotated');
  });

  it('a key authenticates until it is revoked or expired', async () => {
    const account = await fundedAccount(world.store, 1);
    const key = { accountId: account.id, mode: 'live', tier: 'secure', lastFour: 'wxyz' } as const;
    const [hash, expired] = [randomHash(), randomHash()];
    const { id } = await world.store.keys.create({ ...key, hash });
    await world.store.keys.create({ ...key, hash: expired, expiresAt: new Date(Date.now() - 1000) });
    const { closedAt, ...owner } = (await world.store.accounts.get(account.id))!;
    expect(closedAt).toBeNull();
    expect(await world.store.keys.authenticate(hash)).toEqual({
      ...{ kind: 'key', keyId: id, mode: 'live', tier: 'secure', name: '', access: 'full', lastUsedAt: null, account: owner },
    });
    expect(await world.store.keys.authenticate(expired)).toBeNull();
    expect(await world.store.keys.authenticate(randomHash())).toBeNull();
    expect((await world.store.keys.list(account.id))[0]?.lastUsedAt).toBeInstanceOf(Date);
    const revoked = await world.store.keys.revoke(id);
    expect(await world.store.keys.revoke(id)).toEqual(revoked);
    expect(await world.store.keys.authenticate(hash)).toBeNull();
    expect(JSON.stringify(await world.store.keys.list(account.id))).not.toContain('hash');
  });
});
