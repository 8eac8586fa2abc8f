/** `reelmend accounts …` and `reelmend keys …`: accounts and API keys without the console. */
import { Command, InvalidArgumentError, Option } from 'commander';
import { generateApiKey, hashApiKey, type KeyAccess, keyAccesses, longestKeyName } from '../domain/api-key.ts';
import type { Mode, Tier } from '../domain/job.ts';
import { keyOverlapDaysRange } from '../domain/limits.ts';
import { type QuotaChanges, type QuotaName, quotaNames } from '../domain/quotas.ts';
import { assertNoneFailed, type Batch } from '../store/index.ts';
import { positiveWhole } from './options.ts';
import { changeOfAccount, known, type Opened, requireOpen, showAll, showOfAccount, withNewStore, withStore } from './with-store.ts';
import { show } from './table.ts';
import { plain } from './terminal.ts';

/** characters; the limit of the database */
const longestName = 200;

export function accountName(text: string): string {
  if (text.trim() === '' || text.length > longestName) {
    throw new InvalidArgumentError(`Expected a name of 1 to ${longestName} characters.`);
  }
  return text;
}

const movements = [
  { name: 'grant', kind: 'grant', what: 'add live credits; 1 credit = 1 US cent' },
  { name: 'withdraw', kind: 'withdrawal', what: 'take back granted live credits; the ledger keeps both entries' },
] as const;

interface MovementOptions {
  note: string;
  idempotencyKey?: string;
}

/** As in the contract. */
function idempotencyKey(text: string): string {
  if (text.length > 255 || !/^[!-~]([ -~]*[!-~])?$/.test(text)) {
    throw new InvalidArgumentError('Expected 1 to 255 printable ASCII characters, not starting or ending in a space.');
  }
  return text;
}

function movementCommand({ name, kind, what }: (typeof movements)[number]): Command {
  return new Command(name)
    .description(what)
    .argument('<account>', 'id, acct_…')
    .argument('<credits>', 'number of credits', positiveWhole)
    .option('--note <text>', 'note for the ledger', '')
    .option('--idempotency-key <key>', 'moves the credits once, however often the command is repeated with this key', idempotencyKey)
    .action((accountId: string, credits: number, options: MovementOptions) =>
      change(accountId, async (accounts) => (await accounts.moveCredits({ kind, accountId, credits, ...options }))?.account ?? null),
    );
}

/** jobs per batch; each is deleted in its own transaction */
const deletedAtOnce = 200;

async function closeAccount(id: string, { yes = false }: { yes?: boolean }): Promise<void> {
  await withStore(async ({ store }) => {
    const { name } = known(await store.accounts.get(id), 'account', id);
    if (!yes) throw new Error(`Closing ${id} (${plain(name)}) deletes its keys, users, jobs and videos permanently; add --yes to confirm.`);
    const closed = known(await store.accounts.close(id), 'account', id);
    const deleted = await deleteVideos(store, id);
    assertNoneFailed(await store.webhookEndpoints.deleteOfClosed(deletedAtOnce));
    await store.webhookSecrets.deleteOfClosed();
    show({ ...closed, ...deleted });
  });
}

/** For a customer who wants everything erased, but keeps the account. */
async function deleteJobs(id: string, { yes = false }: { yes?: boolean }): Promise<void> {
  await changeOfAccount(id, async ({ store }) => {
    const { name } = known(await store.accounts.get(id), 'account', id);
    if (!yes) {
      throw new Error(`Deleting the jobs of ${id} (${plain(name)}) cancels the unfinished ones and deletes all videos, previews and uploads permanently; add --yes to confirm.`);
    }
    const deleted = await deleteVideos(store, id);
    return { ...known(await store.accounts.get(id), 'account', id), ...deleted };
  });
}

/** Deletes the jobs, previews and uploads of an account. Those of meanwhile stay. Throws AggregateError if some could not be deleted. */
async function deleteVideos(store: Opened['store'], accountId: string): Promise<{ deletedJobs: number; deletedUploads: number }> {
  const jobs = await together(store.jobs.deleteOfAccount(accountId, deletedAtOnce));
  const uploads = await together(store.uploads.deleteOfAccount(accountId, deletedAtOnce));
  for (const batch of [jobs, uploads]) assertNoneFailed(batch);
  return { deletedJobs: jobs.deleted, deletedUploads: uploads.deleted };
}

async function together(batches: AsyncIterable<Batch>) {
  const all = { found: 0, deleted: 0, failures: [] as unknown[] };
  for await (const { found, done, failures } of batches) {
    all.found += found;
    all.deleted += done.length;
    all.failures.push(...failures);
  }
  return all;
}

/** Changes an open account and prints it. */
const change = (id: string, how: (accounts: Opened['store']['accounts']) => Promise<object | null>): Promise<void> =>
  changeOfAccount(id, async ({ store }) => known(await how(store.accounts), 'open account', id));

/** the option of each quota: what it limits */
const quotaOptions: Readonly<Record<QuotaName, string>> = {
  jobs_per_day: 'live jobs and previews per day',
  parallel_enhancements: 'videos and segments that are enhanced at a time',
  upload_quota_bytes: 'bytes of all uploads together, in each mode',
  create_per_minute: 'calls that create jobs or previews, per minute and key',
  read_per_minute: 'calls that read, per minute and key',
  other_per_minute: 'other calls, per minute and key',
};

/** commander takes null for a missing value, so the word is converted in the action. */
const quota = (text: string) => (text === 'default' ? text : positiveWhole(text));

/** `jobs_per_day` → `--jobs-per-day`, which commander keeps as `jobsPerDay` */
const optionOf = (name: QuotaName) => `--${name.replaceAll('_', '-')}`;
const propertyOf = (name: QuotaName) => name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

function setQuotasCommand(): Command {
  const command = new Command('set-quotas')
    .description("set limits of one account; omitted ones stay, `default` restores the service's setting")
    .argument('<account>', 'id, acct_…');
  for (const name of quotaNames) command.option(`${optionOf(name)} <number>`, quotaOptions[name], quota);
  return command.action((id: string, options: Record<string, number | 'default'>) => {
    const changes: QuotaChanges = {};
    for (const name of quotaNames) {
      const value = options[propertyOf(name)];
      if (value !== undefined) changes[name] = value === 'default' ? null : value;
    }
    if (Object.keys(changes).length === 0) throw new Error(`Nothing to change: give at least one of ${quotaNames.map(optionOf).join(', ')}.`);
    return change(id, (accounts) => accounts.setQuotas(id, changes));
  });
}

export function accountCommands(): Command {
  const accounts = new Command('accounts').description('manage accounts and their credits');
  accounts
    .command('create')
    .description('create an account; it stays pending until you approve it')
    .argument('<name>', 'name of the account', accountName)
    .action((name: string) => withNewStore(async ({ store }) => show(await store.accounts.create({ name }))));
  accounts
    .command('approve')
    .description('enable the live keys of an account')
    .argument('<account>', 'id, acct_…')
    .action((id: string) => change(id, (accounts) => accounts.approve(id)));
  accounts
    .command('reject')
    .description('disable the live keys of an account')
    .argument('<account>', 'id, acct_…')
    .action((id: string) => change(id, (accounts) => accounts.reject(id)));
  accounts
    .command('set-plan')
    .description('set the plan name that the account shows')
    .argument('<account>', 'id, acct_…')
    .argument('<plan>', 'letters, digits, - and _')
    .action((id: string, plan: string) => change(id, (accounts) => accounts.setPlan(id, plan)));
  accounts.addCommand(setQuotasCommand());
  for (const movement of movements) accounts.addCommand(movementCommand(movement));
  accounts
    .command('delete-jobs')
    .description('delete all jobs, previews and uploads of an account with their videos; the account, its keys and users stay')
    .argument('<account>', 'id, acct_…')
    .option('--yes', 'confirm; this cannot be undone')
    .action(deleteJobs);
  accounts
    .command('close')
    .description('close an account: revoke its keys, delete its users, jobs and videos; the ledger stays')
    .argument('<account>', 'id, acct_…')
    .option('--yes', 'confirm; this cannot be undone')
    .action(closeAccount);
  accounts
    .command('list')
    .description('list all accounts')
    .action(() => showAll('accounts', ({ store }) => store.accounts.list()));
  return accounts;
}

interface KeyOptions {
  mode: Mode;
  tier: Tier;
  name: string;
  access: KeyAccess;
}

/** An empty name removes the name. */
function keyName(text: string): string {
  if ([...text].length > longestKeyName || /\p{Cc}/u.test(text)) {
    throw new InvalidArgumentError(`Expected a name of at most ${longestKeyName} characters.`);
  }
  return text;
}

async function createKey(accountId: string, { mode, tier, name, access }: KeyOptions): Promise<void> {
  await changeOfAccount(accountId, async ({ store, secrets }) => {
    const { key, lastFour } = generateApiKey(mode);
    const hash = hashApiKey(key, secrets.keyPepper);
    const record = await store.keys.create({ accountId, mode, tier, name, access, hash, lastFour });
    return { ...record, key };
  });
}

/** A key of an open account. Throws for any other. */
async function keyOfOpen(opened: Opened, id: string) {
  const key = known(await opened.store.keys.get(id), 'key', id);
  await requireOpen(opened, key.accountId);
  return key;
}

async function renameKey(id: string, name: string): Promise<void> {
  await withStore(async (opened) => {
    await keyOfOpen(opened, id);
    show(known(await opened.store.keys.rename(id, name), 'key', id));
  });
}

async function rotateKey(id: string, { overlapDays }: { overlapDays: number }): Promise<void> {
  await withStore(async (opened) => {
    const { store, secrets } = opened;
    const old = await keyOfOpen(opened, id);
    const { key, lastFour } = generateApiKey(old.mode);
    const rotated = await store.keys.rotate(id, { hash: hashApiKey(key, secrets.keyPepper), lastFour, overlapDays });
    if (rotated === null) throw new Error(`The key ${id} is revoked or expired.`);
    show({ ...rotated.fresh, key, replaces: rotated.old });
  });
}

function overlapDays(text: string): number {
  const { min, max } = keyOverlapDaysRange;
  if (!/^\d{1,2}$/.test(text) || Number(text) > max) throw new InvalidArgumentError(`Expected ${min} to ${max} days.`);
  return Number(text);
}

export function keyCommands(): Command {
  const keys = new Command('keys').description('manage API keys');
  keys
    .command('create')
    .description('create a key; it is printed once and stored as a hash')
    .argument('<account>', 'id, acct_…')
    .addOption(new Option('--mode <mode>', 'test: mock jobs, free; live: real jobs, charged').choices(['test', 'live']).default('live'))
    .addOption(
      new Option('--tier <tier>', 'tier of the key').choices(['standard', 'secure']).default('standard'),
    )
    .option('--name <text>', 'name of the key', keyName, '')
    .addOption(
      new Option('--access <access>', 'full; read_only: reads, changes nothing; create_only: creates quotes, jobs, previews and uploads, reads nothing else')
        .choices(keyAccesses)
        .default('full'),
    )
    .action(createKey);
  keys
    .command('rename')
    .description('rename a key')
    .argument('<key>', 'id, key_…')
    .argument('<name>', 'at most 100 characters; "" for none', keyName)
    .action(renameKey);
  keys
    .command('rotate')
    .description('replace a key with a new one of the same mode, tier, name and access; both work during the overlap')
    .argument('<key>', 'id, key_…')
    .addOption(
      new Option('--overlap-days <days>', 'number of days that both keys work, 0 to 7; 0 revokes the old key at once')
        .argParser(overlapDays)
        .default(1),
    )
    .action(rotateKey);
  keys
    .command('revoke')
    .description('revoke a key at once')
    .argument('<key>', 'id, key_…')
    .action((id: string) => withStore(async ({ store }) => show(known(await store.keys.revoke(id), 'key', id))));
  keys
    .command('list')
    .description('list the keys of an account')
    .argument('<account>', 'id, acct_…')
    .action((id: string) => showOfAccount(id, ({ store }) => store.keys.list(id)));
  return keys;
}
