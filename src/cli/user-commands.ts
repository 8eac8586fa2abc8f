/** `reelmend users …` and `reelmend operators …`: people who sign in to the console. */
import { randomBytes } from 'node:crypto';
import { text as textOf } from 'node:stream/consumers';
import { Command, Option } from 'commander';
import { zEmail } from '../contract/zod.gen.ts';
import { createPasswords } from '../domain/passwords.ts';
import type { ConsoleUser } from '../store/index.ts';
import { accountName } from './account-commands.ts';
import { known, type Opened, print, withStore } from './with-store.ts';

/** characters, as the console takes them */
const shortestPassword = 12;
const longestPassword = 200;
const passwordStdin = '--password-stdin';

interface PasswordOptions {
  passwordStdin?: boolean;
}

/** What standard input holds when it was asked for, without its line end; else one that is made up. */
async function readPassword({ passwordStdin = false }: PasswordOptions): Promise<{ password: string; made: boolean }> {
  if (!passwordStdin) return { password: randomBytes(15).toString('base64url'), made: true };
  const password = (await textOf(process.stdin)).replace(/\r?\n$/, '');
  if (password.length < shortestPassword) throw new Error(`A password has at least ${shortestPassword} characters.`);
  if (password.length > longestPassword) throw new Error(`A password has at most ${longestPassword} characters.`);
  return { password, made: false };
}

function requireEmail(email: string): void {
  if (!zEmail.safeParse(email).success) throw new Error(`${email} is no email address.`);
}

/** Makes the user where there is none: an operator has an approved account as everybody else has. */
async function addOperator(email: string, options: PasswordOptions & { existing?: boolean }): Promise<void> {
  requireEmail(email);
  const { password, made } = await readPassword(options);
  await withStore(async ({ store }) => {
    const found = await store.users.byEmail(email);
    if (found !== null && !made) {
      throw new Error(`${email} has a password already; users reset-password sets another.`);
    }
    // Nobody checks who signs up with which address.
    if (found !== null && options.existing !== true) {
      throw new Error(`Somebody has signed up as ${email}. If that is who you mean, add --existing.`);
    }
    if (found === null) await createUser(store, { email, password });
    const operator = await store.users.setOperator(email, true);
    print({ ...operator, ...(found === null && made ? { password } : {}) });
  });
}

interface NewUser {
  email: string;
  password: string;
  /** of the account; default: the email */
  name?: string | undefined;
}

/** With an account of their own, approved: who makes a user by hand has looked at who it is. */
async function createUser(store: Opened['store'], { email, password, name = email }: NewUser): Promise<ConsoleUser> {
  const hash = await createPasswords().hash(password);
  const user = await store.users.create({ email, password: hash, account: { name } });
  if (user === null) throw new Error(`Somebody has signed up as ${email} already.`);
  await store.accounts.approve(user.accountId);
  return user;
}

async function addUser(email: string, { name, ...options }: PasswordOptions & { name?: string }): Promise<void> {
  requireEmail(email);
  const { password, made } = await readPassword(options);
  await withStore(async ({ store }) => {
    const user = await createUser(store, { email, password, name });
    print({ ...user, ...(made ? { password } : {}) });
  });
}

/** Nobody stays signed in who was. */
async function resetPassword(email: string, options: PasswordOptions): Promise<void> {
  const { password, made } = await readPassword(options);
  await withStore(async ({ store }) => {
    const { id } = known(await store.users.byEmail(email), 'user', email);
    const endedSessions = await store.users.changePassword(id, await createPasswords().hash(password), null);
    print({ id, email, endedSessions, ...(made ? { password } : {}) });
  });
}

export function userCommands(): Command {
  const users = new Command('users').description('people who sign in to the console');
  users
    .command('add')
    .description('make a user with an approved account of its own; the password is printed once')
    .argument('<email>', 'with which they sign in')
    .addOption(new Option('--name <name>', 'of the account; default: the email').argParser(accountName))
    .option(passwordStdin, 'take the password from standard input instead of making one up')
    .action(addUser);
  users
    .command('list')
    .description('list them, with their accounts')
    .action(() => withStore(async ({ store }) => print(await store.users.list())));
  users
    .command('reset-password')
    .description('give somebody a new password, which is printed once, and end their sessions')
    .argument('<email>', 'with which they sign in')
    .option(passwordStdin, 'take the password from standard input instead of making one up')
    .action(resetPassword);
  return users;
}

export function operatorCommands(): Command {
  const operators = new Command('operators').description('people who may use the operator pages of the console');
  operators
    .command('add')
    .description('make somebody an operator; one who has not signed up gets an approved account and a password')
    .argument('<email>', 'with which they sign in')
    .option(passwordStdin, 'take the password of a new one from standard input instead of printing one')
    .option('--existing', 'take somebody who has signed up already')
    .action(addOperator);
  operators
    .command('remove')
    .description('make an operator an ordinary user')
    .argument('<email>', 'with which they sign in')
    .action((email: string) =>
      withStore(async ({ store }) => print(known(await store.users.setOperator(email, false), 'user', email))),
    );
  operators
    .command('list')
    .description('list the operators')
    .action(() => withStore(async ({ store }) => print(await store.users.operators())));
  return operators;
}
