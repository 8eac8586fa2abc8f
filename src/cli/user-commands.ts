/** `reelmend users …` and `reelmend operators …`: users of the console. */
import { randomBytes } from 'node:crypto';
import { text as textOf } from 'node:stream/consumers';
import { Argument, Command, Option } from 'commander';
import type { Config } from '../app/config.ts';
import { generateLinkToken, hashLinkToken, invitationDays, linkUrl, passwordLinkMinutes } from '../domain/one-time-link.ts';
import { createPasswords } from '../domain/passwords.ts';
import { type Role, roles } from '../domain/roles.ts';
import type { ConsoleUser } from '../store/index.ts';
import { accountName } from './account-commands.ts';
import { changeOfAccount, known, type Opened, showAll, withNewStore, withStore } from './with-store.ts';
import { show } from './table.ts';
import { terminal } from './terminal.ts';

/** characters; the console's limits */
const shortestPassword = 12;
const longestPassword = 200;
const passwordStdin = '--password-stdin';
const roleText = 'member: jobs, previews, uploads; admin: also keys, webhooks, retention and people';

interface PasswordOptions {
  passwordStdin?: boolean;
}

/** Reads the password from the first line of standard input if requested; otherwise generates one. */
async function readPassword({ passwordStdin = false }: PasswordOptions): Promise<{ password: string; made: boolean }> {
  if (!passwordStdin) return { password: randomBytes(15).toString('base64url'), made: true };
  const password = (await textOf(terminal().stdin)).split(/\r?\n/, 1)[0]!;
  if (password.length < shortestPassword) throw new Error(`The password must have at least ${shortestPassword} characters.`);
  if (password.length > longestPassword) throw new Error(`The password must have at most ${longestPassword} characters.`);
  return { password, made: false };
}

/** Loads the validators of the whole contract here: they take a third of the time that another command needs to start. */
async function requireEmail(email: string): Promise<void> {
  const { zEmail } = await import('../contract/zod.gen.ts');
  if (!zEmail.safeParse(email).success) throw new Error(`${email} is not an email address.`);
}

/** Makes a user an operator. Creates the user, with an approved account, if there is none. */
async function addOperator(email: string, options: PasswordOptions & { existing?: boolean }): Promise<void> {
  await requireEmail(email);
  const { password, made } = await readPassword(options);
  await withNewStore(async ({ store }) => {
    const found = await store.users.byEmail(email);
    if (found !== null && !made) {
      throw new Error(`${email} already has a password; use users reset-password to change it.`);
    }
    // Sign-up does not verify email addresses.
    if (found !== null && options.existing !== true) {
      throw new Error(`${email} has already signed up. To make this user an operator, add --existing.`);
    }
    if (found === null) await createUser(store, { email, password });
    const operator = await store.users.setOperator(email, true);
    show({ ...operator, ...(found === null && made ? { password } : {}) });
  });
}

interface NewUser {
  email: string;
  password: string;
  /** name of the account; default: the email */
  name?: string | undefined;
}

/** Creates a user with an account. The account is approved, since an operator creates it. */
async function createUser(store: Opened['store'], { email, password, name = email }: NewUser): Promise<ConsoleUser> {
  const hash = await createPasswords().hash(password);
  const user = await store.users.create({ email, password: hash, account: { name } });
  if (user === null) throw new Error(`${email} has already signed up.`);
  await store.accounts.approve(user.accountId);
  return user;
}

async function addUser(email: string, { name, ...options }: PasswordOptions & { name?: string }): Promise<void> {
  await requireEmail(email);
  const { password, made } = await readPassword(options);
  await withNewStore(async ({ store }) => {
    const user = await createUser(store, { email, password, name });
    show({ ...user, ...(made ? { password } : {}) });
  });
}

/** Sets a new password and ends the user's sessions. */
async function resetPassword(email: string, options: PasswordOptions): Promise<void> {
  const { password, made } = await readPassword(options);
  await withStore(async ({ store }) => {
    const { id } = known(await store.users.byEmail(email), 'user', email);
    const endedSessions = await store.users.changePassword(id, await createPasswords().hash(password), null);
    show({ id, email, endedSessions, ...(made ? { password } : {}) });
  });
}

/** Prints a link that lets the user set a new password; it replaces the previous one. */
async function passwordLink(email: string): Promise<void> {
  await withStore(async ({ store, config, secrets }) => {
    const { id } = known(await store.users.byEmail(email), 'user', email);
    const token = generateLinkToken();
    const { expiresAt } = known(await store.passwordLinks.create(id, hashLinkToken('password', token, secrets.keyPepper)), 'user', email);
    show({ id, email, url: linkUrl(publicUrlOf(config), 'password', token), expiresAt });
  });
}

/** For a user who lost the authenticator app and the recovery codes. */
async function resetTwoFactor(email: string): Promise<void> {
  await withStore(async ({ store }) => {
    const { id } = known(await store.users.byEmail(email), 'user', email);
    if (!known(await store.twoFactor.reset(id), 'user', email)) throw new Error(`${email} has no second factor.`);
    show({ id, email, twoFactor: false });
  });
}

/** Prints a link that lets another person join an account. */
async function invite(accountId: string, email: string, { role }: { role: Role }): Promise<void> {
  await requireEmail(email);
  await changeOfAccount(accountId, async ({ store, config, secrets }) => {
    const token = generateLinkToken();
    const tokenHash = hashLinkToken('invitation', token, secrets.keyPepper);
    const made = await store.people.invite({ accountId, email, role, tokenHash, createdBy: null });
    const { id, expiresAt } = known(made, 'open account', accountId);
    return { id, email, role, url: linkUrl(publicUrlOf(config), 'invitation', token), expiresAt };
  });
}

async function setRole(email: string, role: Role): Promise<void> {
  await withStore(async ({ store }) => {
    const { id, accountId } = known(await store.users.byEmail(email), 'user', email);
    show(known(await store.people.setRole({ accountId, userId: id }, role, {}), 'user', email));
  });
}

async function removeUser(email: string): Promise<void> {
  await withStore(async ({ store }) => {
    const { id, accountId, operator } = known(await store.users.byEmail(email), 'user', email);
    if (operator) throw new Error(`${email} is an operator; use operators remove first.`);
    known((await store.people.remove({ accountId, userId: id }, {})) || null, 'user', email);
    show({ id, email, removed: true });
  });
}

/** The URL that a service with this configuration listens at, for lack of REELMEND_PUBLIC_URL. */
function publicUrlOf({ publicUrl, host, port }: Config): string {
  if (publicUrl !== undefined) return publicUrl;
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}

export function userCommands(): Command {
  const users = new Command('users').description('manage the users of the console');
  users
    .command('add')
    .description('create a user with an approved account; the password is printed once')
    .argument('<email>', 'email address that the user signs in with')
    .addOption(new Option('--name <name>', 'name of the account; default: the email').argParser(accountName))
    .option(passwordStdin, 'read the password from the first line of standard input; otherwise one is generated')
    .action(addUser);
  users
    .command('list')
    .description('list the users with their accounts')
    .action(() => showAll('users', ({ store }) => store.users.list()));
  users
    .command('reset-password')
    .description('set a new password, print it once, and end the sessions of the user')
    .argument('<email>', 'email address that the user signs in with')
    .option(passwordStdin, 'read the password from the first line of standard input; otherwise one is generated')
    .action(resetPassword);
  users
    .command('password-link')
    .description(`print a link that lets the user set a new password; it works once, for ${passwordLinkMinutes} minutes`)
    .argument('<email>', 'email address that the user signs in with')
    .action(passwordLink);
  users
    .command('reset-two-factor')
    .description('disable the second factor of a user who lost it, and end the sessions of the user')
    .argument('<email>', 'email address that the user signs in with')
    .action(resetTwoFactor);
  users
    .command('invite')
    .description(`print a link that lets a further person join an account; it works once, for ${invitationDays} days`)
    .argument('<account>', 'id, acct_…')
    .argument('<email>', 'email address that the person will sign in with')
    .addOption(new Option('--role <role>', roleText).choices(roles).default('member'))
    .action(invite);
  users
    .command('set-role')
    .description('change what a user may do in the account')
    .argument('<email>', 'email address that the user signs in with')
    .addArgument(new Argument('<role>', roleText).choices(roles))
    .action(setRole);
  users
    .command('remove')
    .description('delete a user and end the sessions; the account stays')
    .argument('<email>', 'email address that the user signs in with')
    .action(removeUser);
  return users;
}

export function operatorCommands(): Command {
  const operators = new Command('operators').description('manage who may use the operator pages of the console');
  operators
    .command('add')
    .description('make a user an operator; creates the user with an approved account when there is none')
    .argument('<email>', 'email address that the user signs in with')
    .option(passwordStdin, 'read the password of a new user from the first line of standard input; otherwise one is generated and printed')
    .option('--existing', 'allow a user who has already signed up')
    .action(addOperator);
  operators
    .command('remove')
    .description('turn an operator into an ordinary user')
    .argument('<email>', 'email address that the user signs in with')
    .action((email: string) =>
      withStore(async ({ store }) => show(known(await store.users.setOperator(email, false), 'user', email))),
    );
  operators
    .command('list')
    .description('list the operators')
    .action(() => showAll('operators', ({ store }) => store.users.operators()));
  return operators;
}
