/** The demo account of the first start, and the texts that show its keys. */
import { randomBytes } from 'node:crypto';
import { generateApiKey, hashApiKey } from '../domain/api-key.ts';
import { createPasswords } from '../domain/passwords.ts';
import type { Mode } from '../domain/job.ts';
import type { Service } from '../app/service.ts';

const demoName = 'Demo';
const demoEmail = 'demo@localhost';
const demoCredits = 10_000;

export interface DemoKeys {
  live: string;
  test: string;
  /** sign-in of the account's user, an operator */
  console: { email: string; password: string };
}

/** Creates an approved account with credits, keys and a user. Returns null when the database has accounts already: their keys cannot be shown. */
export async function createDemoAccount(service: Service): Promise<DemoKeys | null> {
  if ((await service.store.accounts.list()).length > 0) return null;
  const account = await service.store.accounts.create({ name: demoName });
  await service.store.accounts.approve(account.id);
  await service.store.accounts.grant(account.id, demoCredits, 'demo');
  const issue = async (mode: Mode) => {
    const { key, lastFour } = generateApiKey(mode);
    const hash = hashApiKey(key, service.keyPepper);
    await service.store.keys.create({ accountId: account.id, mode, tier: 'standard', hash, lastFour });
    return key;
  };
  const user = { email: demoEmail, password: randomBytes(12).toString('base64url') };
  const password = await createPasswords().hash(user.password);
  await service.store.users.create({ email: user.email, password, account: { id: account.id } });
  await service.store.users.setOperator(user.email, true);
  return { live: await issue('live'), test: await issue('test'), console: user };
}

/** The text of the first start: keys, console, and a first job to paste. */
export function welcome(url: string, keys: DemoKeys, sampleUrl: string): string {
  return `
Reelmend is running at ${url}. These keys are shown once; keep them:

  live key     ${keys.live}     real enhancement, charged against ${demoCredits} credits
  test key     ${keys.test}     free mock jobs

The console shows your jobs, keys and usage: ${url}/console

  email        ${keys.console.email}
  password     ${keys.console.password}

Your first job by hand:

  curl -s ${url}/v1/jobs -H 'Authorization: Bearer ${keys.live}' \\
    -H 'Content-Type: application/json' -d '{"video_url": "${sampleUrl}", "resolution": "1080p"}'
`;
}

/** The text of later starts: how to replace keys and passwords that were lost. */
export function welcomeBack(url: string): string {
  return `
Reelmend is running at ${url}, its console at ${url}/console.

Keys and passwords are shown once. To replace lost ones:

  scripts/reelmend accounts list                  list the accounts with their ids
  scripts/reelmend keys create ACCOUNT            create a live key; --mode test for a test key
  scripts/reelmend users list                     list the users of the console
  scripts/reelmend users reset-password EMAIL     set a new password

Ctrl-C stops the service.`;
}
