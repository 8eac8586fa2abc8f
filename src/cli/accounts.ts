/** `framelift accounts …` and `framelift keys …`: what an operator does without the console. */
import { Command, InvalidArgumentError, Option } from 'commander';
import { type Config, loadConfig } from '../config.ts';
import { generateApiKey, hashApiKey } from '../domain/api-key.ts';
import type { Lane, Tier } from '../domain/job.ts';
import { openStore } from '../main.ts';
import { loadSecrets } from '../secrets.ts';
import type { Store } from '../store/index.ts';

async function withStore<T>(work: (store: Store, config: Config) => Promise<T>): Promise<T> {
  const config = loadConfig();
  const { store, close } = await openStore(config);
  try {
    return await work(store, config);
  } finally {
    await close();
  }
}

const print = (value: unknown) => console.log(JSON.stringify(value, null, 2));

function known<T>(value: T | null, what: string, id: string): T {
  if (value === null) throw new Error(`There is no ${what} ${id}.`);
  return value;
}

function positiveWhole(text: string): number {
  if (!/^[1-9]\d{0,11}$/.test(text)) throw new InvalidArgumentError('Expected a positive whole number.');
  return Number(text);
}

export function accountCommands(): Command {
  const accounts = new Command('accounts').description('accounts: create, approve, fund');
  accounts
    .command('create')
    .description('create an account; it is pending until it is approved')
    .argument('<name>', 'whose account it is')
    .action((name: string) => withStore(async (store) => print(await store.accounts.create({ name }))));
  accounts
    .command('approve')
    .description('let the live keys of an account work')
    .argument('<account>', 'id, acct_…')
    .action((id: string) => withStore(async (store) => print(known(await store.accounts.approve(id), 'account', id))));
  accounts
    .command('grant')
    .description('add live credits; 1 credit = 1 US cent')
    .argument('<account>', 'id, acct_…')
    .argument('<credits>', 'how many', positiveWhole)
    .option('--note <text>', 'kept in the ledger', '')
    .action((id: string, credits: number, { note }: { note: string }) =>
      withStore(async (store) => print(known(await store.accounts.grant(id, credits, note), 'account', id))),
    );
  accounts
    .command('list')
    .description('list all accounts')
    .action(() => withStore(async (store) => print(await store.accounts.list())));
  return accounts;
}

interface KeyOptions {
  lane: Lane;
  tier: Tier;
}

async function createKey(accountId: string, { lane, tier }: KeyOptions): Promise<void> {
  await withStore(async (store, config) => {
    known(await store.accounts.get(accountId), 'account', accountId);
    const { keyPepper } = await loadSecrets(config);
    const { key, lastFour } = generateApiKey(lane);
    const record = await store.keys.create({ accountId, lane, tier, hash: hashApiKey(key, keyPepper), lastFour });
    print({ ...record, key });
  });
}

export function keyCommands(): Command {
  const keys = new Command('keys').description('API keys: create, revoke');
  keys
    .command('create')
    .description('create a key; it is printed once and stored only as a hash')
    .argument('<account>', 'id, acct_…')
    .addOption(new Option('--lane <lane>', 'test: sandbox; live: charged').choices(['test', 'live']).default('live'))
    .addOption(new Option('--tier <tier>', 'what the key may ask for').choices(['standard', 'secure']).default('standard'))
    .action(createKey);
  keys
    .command('revoke')
    .description('end a key at once')
    .argument('<key>', 'id, key_…')
    .action((id: string) => withStore(async (store) => print(known(await store.keys.revoke(id), 'key', id))));
  keys
    .command('list')
    .description('list the keys of an account')
    .argument('<account>', 'id, acct_…')
    .action((id: string) => withStore(async (store) => print(await store.keys.list(id))));
  return keys;
}
