/** The service and the key that a customer's commands use: from options, the environment, or `reelmend login`. */
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text as textOf } from 'node:stream/consumers';
import { Command } from 'commander';
import { z } from 'zod';
import { configDir } from '../app/folders.ts';
import type { Account, Reelmend } from '../sdk/index.ts';
import { plain, say, terminal } from './terminal.ts';

export interface RemoteOptions {
  url?: string;
  key?: string;
}

/** Adds the options that name the service. They are left out of the help of other commands. */
export function withService(command: Command): Command {
  return command
    .option('--url <url>', 'base URL of the service; default: REELMEND_URL, or that of reelmend login')
    .option('--key <key>', 'API key; default: REELMEND_API_KEY, or that of reelmend login. Other users of this machine can see options');
}

const stored = z.object({ url: z.url(), key: z.string().min(1) });
type Login = z.infer<typeof stored>;

const loginFile = () => join(configDir(terminal().env), 'login.json');

async function readLogin(): Promise<Login | undefined> {
  const text = await readFile(loginFile(), 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const parsed = stored.safeParse(parseJson(text));
  if (!parsed.success) throw new Error(`${loginFile()} is damaged; run reelmend login again.`);
  return parsed.data;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

const sameService = (a: string, b: string) => a.replace(/\/+$/, '') === b.replace(/\/+$/, '');

function requireUrl(url: string): void {
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) throw new Error(`${plain(url)} is no whole URL of a service, such as https://reelmend.example.com.`);
  const { username, password, href } = new URL(url);
  // An empty query or fragment is in `href` only.
  if (username !== '' || password !== '' || /[?#]/.test(href)) throw new Error('The URL of the service must have no user name, query or fragment.');
}

/** The SDK refuses such a key, but names its own option. */
function requireVisible(key: string): void {
  if (!/^[!-~]+$/.test(key)) throw new Error('The API key has a character that no key has, such as a space or a line break.');
}

/** Throws with one sentence that names what is missing. */
export async function connect({ url, key }: RemoteOptions): Promise<Reelmend> {
  const { env } = terminal();
  // An empty variable counts as none, and an empty option as a mistake.
  const givenUrl = url ?? (env['REELMEND_URL'] || undefined);
  const givenKey = key ?? (env['REELMEND_API_KEY'] || undefined);
  const login = givenUrl !== undefined && givenKey !== undefined ? undefined : await readLogin();
  const baseUrl = givenUrl ?? login?.url;
  if (!baseUrl) throw new Error('Which service? Run reelmend login, set REELMEND_URL, or give --url.');
  requireUrl(baseUrl);
  // A key is never sent to another service than its own.
  const keptKey = login !== undefined && sameService(login.url, baseUrl) ? login.key : undefined;
  const apiKey = givenKey ?? keptKey;
  if (!apiKey) throw new Error('With which API key? Run reelmend login, set REELMEND_API_KEY, or give --key.');
  requireVisible(apiKey);
  const { createReelmend } = await import('../sdk/index.ts');
  return createReelmend({ baseUrl, apiKey });
}

export function loginCommands(): Command[] {
  const login = new Command('login')
    .description('ask for an API key of a service; store URL and key for upload, jobs, preview, previews, account, audit-log and listen')
    .argument('<url>', 'base URL of the service')
    .action(runLogin);
  const logout = new Command('logout').description('delete the stored URL and API key').action(async () => {
    await rm(loginFile(), { force: true });
    say('Logged out.');
  });
  return [login, logout];
}

async function runLogin(url: string): Promise<void> {
  requireUrl(url);
  const key = await askKey();
  requireVisible(key);
  const { createReelmend } = await import('../sdk/index.ts');
  const account = await createReelmend({ baseUrl: url, apiKey: key }).account.get();
  await mkdir(dirname(loginFile()), { recursive: true, mode: 0o700 });
  await writeFile(loginFile(), `${JSON.stringify({ url, key } satisfies Login)}\n`, { mode: 0o600 });
  // Writing to an existing file keeps its mode.
  await chmod(loginFile(), 0o600);
  say(`Logged in to ${url}: ${describe(account)}.`);
}

const describe = ({ id, sandbox, credits }: Account) => (sandbox ? `${id}, test mode` : `${id}, ${credits} credits`);

/** Without echo at a terminal; otherwise the first line of standard input. */
async function askKey(): Promise<string> {
  const { stdin, stderr } = terminal();
  if ((stdin as { isTTY?: boolean }).isTTY !== true) return firstLine(await textOf(stdin));
  stderr('API key: ');
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: stdin, output: silent, terminal: true });
  try {
    return firstLine(await lines.question(''));
  } finally {
    lines.close();
    stderr('\n');
  }
}

function firstLine(text: string): string {
  const key = text.split('\n')[0]!.trim();
  if (key === '') throw new Error('There is no API key on standard input.');
  return key;
}
