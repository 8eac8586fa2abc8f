/** `reelmend account …`: balance, limits, credit transfers and usage of the account of an API key. */
import { Command, InvalidArgumentError, Option } from 'commander';
import { omitUndefined } from '../domain/omit-undefined.ts';
import type { Account } from '../sdk/index.ts';
import { connect, type RemoteOptions, withService } from './connect.ts';
import { positiveWhole } from './options.ts';
import { sayFacts } from './table.ts';
import { print } from './terminal.ts';
import { firstOf, largestPage } from './videos.ts';

interface OutputOptions extends RemoteOptions {
  json?: boolean;
}

export function ownAccountCommand(): Command {
  const account = new Command('account').description("show the balance, the plan and the limits of the API key's account, its credit transfers and its usage");
  withService(account.command('show', { isDefault: true }))
    .description('print mode, balance, plan, prices and limits; the default')
    .option('--json', 'print the account as JSON')
    .action(async ({ json, ...options }: OutputOptions) => {
      const found = await (await connect(options)).account.get();
      if (json === true) print(found);
      else sayFacts(factsOf(found));
    });
  withService(account.command('ledger'))
    .description('list the newest credit transfers: grants, withdrawals, charges and refunds')
    .option('--limit <count>', 'number of transfers to list', positiveWhole, 20)
    .option('--json', 'print JSON')
    .action(async ({ limit, json, ...options }: OutputOptions & { limit: number }) => {
      const transfers = await firstOf((await connect(options)).ledger.list({ limit: Math.min(limit, largestPage) }), limit);
      if (json === true) print(transfers);
      else sayFacts(transfers.map(({ at, kind, amount, balance, job_id: job, note }) => ({ at: new Date(at), kind, amount, balance, job, note })));
    });
  withService(account.command('usage'))
    .description('sum charged jobs, seconds and credits by day or month (UTC)')
    .addOption(new Option('--by <interval>', 'length of a period').choices(['day', 'month']).default('day'))
    .option('--from <day>', 'first day, such as 2026-11-01; default: 30 days or 12 months', day)
    .option('--to <day>', 'last day; default: today', day)
    .option('--json', 'print JSON')
    .action(printUsage);
  return account;
}

interface UsageOptions extends OutputOptions {
  by: 'day' | 'month';
  from?: string;
  to?: string;
}

async function printUsage({ by, from, to, json, ...options }: UsageOptions): Promise<void> {
  const { data } = await (await connect(options)).account.usage({ interval: by, ...omitUndefined({ from, to }) });
  if (json === true) print(data);
  else sayFacts(data);
}

function day(text: string): string {
  if (!/^\d{4}-\d\d-\d\d$/.test(text) || Number.isNaN(Date.parse(text))) throw new InvalidArgumentError('Expected a day, such as 2026-11-21.');
  return text;
}

function factsOf({ id, plan, tier, sandbox, credits, approval_status: approval, retention_days: retention, pricing, limits, key }: Account) {
  const { max_duration_seconds: seconds, max_file_size_bytes: bytes, jobs_per_day: jobs, parallel_enhancements: parallel, calls_per_minute: calls } = limits;
  return {
    account: id,
    key: key.name === '' ? key.id : `${key.id} (${key.name})`,
    mode: sandbox ? 'test' : 'live',
    tier,
    access: key.access,
    approval,
    plan,
    credits,
    prices: Object.entries(pricing.per_second).map(([resolution, price]) => `${resolution} ${Math.round(price * 100)} credits per second`),
    longest_video: `${seconds} s`,
    largest_file: `${bytes} bytes`,
    uploads: `${limits.upload_quota_bytes} bytes`,
    jobs_per_day: jobs ?? 'unlimited',
    enhanced_at_a_time: parallel ?? 'unlimited',
    calls_per_minute: `create ${calls.create}, read ${calls.read}, other ${calls.other}`,
    models: limits.models,
    files_kept: `${retention} days`,
  };
}
