/** `reelmend webhooks …`: signing secrets, endpoints and deliveries. */
import { Command } from 'commander';
import { positiveWhole } from './options.ts';
import { changeOfAccount, known, showOfAccount, withStore } from './with-store.ts';
import { show } from './table.ts';

export function webhookCommands(): Command {
  const webhooks = new Command('webhooks').description('manage webhook secrets, endpoints and deliveries');
  webhooks
    .command('secret')
    .description('print the signing secret of an account, and the one that it replaces')
    .argument('<account>', 'id, acct_…')
    .action((id: string) =>
      showOfAccount(id, async ({ store }) => {
        const { secrets, serviceSecret, switchesAt } = await store.webhookSecrets.overview(id);
        const [secret, ...replaced] = secrets;
        return { account: id, secret, replaced, serviceSignature: { secret: serviceSecret, switchesAt } };
      }),
    );
  webhooks
    .command('rotate-secret')
    .description('create a new secret; the old one also signs for 24 hours')
    .argument('<account>', 'id, acct_…')
    .action((id: string) =>
      changeOfAccount(id, async ({ store }) => ({ account: id, secret: known(await store.webhookSecrets.rotate(id), 'open account', id) })),
    );
  webhooks
    .command('switch-secret')
    .description('sign X-Service-Signature with the newest secret now, without waiting for the 24 hours of a rotation')
    .argument('<account>', 'id, acct_…')
    .action((id: string) => changeOfAccount(id, async ({ store }) => ({ account: id, switched: await store.webhookSecrets.switchNow(id) })));
  webhooks
    .command('endpoints')
    .description('list the webhook endpoints of an account, newest first; their secrets are not shown')
    .argument('<account>', 'id, acct_…')
    .action((id: string) => showOfAccount(id, ({ store }) => store.webhookEndpoints.list(id)));
  webhooks
    .command('deliveries')
    .description('list the deliveries of an account with all attempts, newest first')
    .argument('<account>', 'id, acct_…')
    .option('--limit <number>', 'number of deliveries', positiveWhole, 50)
    .action((id: string, { limit }: { limit: number }) => showOfAccount(id, ({ store }) => store.deliveries.page({ accountId: id, limit })));
  webhooks
    .command('resend')
    .description('send a delivery again now')
    .argument('<delivery>', 'id, evt_…')
    .action((id: string) =>
      withStore(async ({ store }) => show(known(await store.deliveries.resend(id), 'delivery', id))),
    );
  return webhooks;
}
