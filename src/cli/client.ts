/**
 * Entry of the package for customers (scripts/build-cli): the commands that call a remote service and need neither engine
 * nor database. The other commands say where they are available.
 */
import { Command } from 'commander';
import { ensureHome } from '../app/folders.ts';
import { remoteCommands } from './remote-commands.ts';
import { addGroups, rootCommand, run } from './run.ts';
import { endWithReader } from './terminal.ts';
import { verifyCommands } from './verify-commands.ts';

/** Commands of a checkout only; hidden in the help. */
const elsewhere = [
  ...['start', 'serve', 'work', 'health', 'enhance', 'plan', 'probe', 'devices', 'models'],
  ...['job', 'accounts', 'keys', 'users', 'operators', 'webhooks', 'ledger', 'audit', 'certificates', 'signing-keys'],
];

const client = rootCommand('Works with a Reelmend service: send videos, follow jobs, receive webhooks, verify proofs.');
addGroups(client, [...remoteCommands(), verifyCommands()]);
for (const name of elsewhere) {
  const command = new Command(name).argument('[args...]').allowUnknownOption().helpOption(false);
  client.addCommand(command.action(() => {
    throw new Error(`${name} needs the engine and the service, which this package does not contain. Run it in a checkout of Reelmend: scripts/reelmend ${name}.`);
  }), { hidden: true });
}
endWithReader();
ensureHome();
await run(client, process.argv.slice(2));
