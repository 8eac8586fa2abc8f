/** `reelmend ledger|audit|certificates|signing-keys|webhooks …`: the books, the evidence and the deliveries of a service. */
import { Command } from 'commander';
import { known, positiveWhole, print, type Opened, withStore } from './with-store.ts';

/** Exit status 1 when a rule is broken. */
async function checkLedger(): Promise<void> {
  await withStore(async ({ store }) => {
    const [sums, violations] = [await store.ledgerSums(), await store.ledgerCheck()];
    print({ ok: violations.length === 0, sums, violations });
    if (violations.length > 0) process.exitCode = 1;
  });
}

export function ledgerCommands(): Command {
  const ledger = new Command('ledger').description('the books');
  ledger
    .command('check')
    .description('check every sum and every link of the books; exit status 1 when one does not hold')
    .action(checkLedger);
  return ledger;
}

/** `… export ACCOUNT`: prints what there is of an account that is known. */
function exportCommand(what: string, read: (opened: Opened, accountId: string) => Promise<object>): Command {
  return new Command('export')
    .description(what)
    .argument('<account>', 'id, acct_…')
    .action((id: string) =>
      withStore(async (opened) => {
        known(await opened.store.accounts.get(id), 'account', id);
        print(await read(opened, id));
      }),
    );
}

/** The whole log with its signed head and the public keys: all that `verify audit-log` needs. */
async function exportAuditLog({ store, evidence }: Opened, accountId: string) {
  const { entries, head } = await store.audit.export(accountId);
  const signed = await evidence.signHead({ account_id: accountId, ...head, signed_at: new Date().toISOString() });
  return { account_id: accountId, entries, head: signed, jwks: await evidence.jwks() };
}

export function auditCommands(): Command {
  const audit = new Command('audit').description('the audit logs');
  audit.addCommand(
    exportCommand("print an account's whole log with its signed head and the public keys, as one JSON", exportAuditLog),
  );
  return audit;
}

/** Every certificate with the public keys: all that `verify certificate` needs. */
async function exportCertificates({ store, evidence }: Opened, accountId: string) {
  const issued = await store.certificates.all(accountId);
  return {
    account_id: accountId,
    certificates: issued.map(({ jobId, jws, issuedAt }) => ({ job_id: jobId, certificate: jws, issued_at: issuedAt })),
    pending: await store.certificates.pending(accountId),
    jwks: await evidence.jwks(),
  };
}

export function certificateCommands(): Command {
  const certificates = new Command('certificates').description('the deletion certificates');
  const what = 'print all deletion certificates of an account, also of a closed one, with the public keys, as one JSON';
  certificates.addCommand(exportCommand(what, exportCertificates));
  return certificates;
}

export function signingKeyCommands(): Command {
  const keys = new Command('signing-keys').description('keys that sign certificates and audit logs');
  keys
    .command('rotate')
    .description('make a new key that signs from now on; old ones stay published')
    .action(() => withStore(async ({ evidence }) => print({ kid: await evidence.rotate() })));
  keys
    .command('list')
    .description('list the keys, oldest first, and the key set that is published')
    .action(() =>
      withStore(async ({ store, evidence }) => {
        const published = await evidence.jwks();
        const all = await store.signingKeys.list();
        print({ keys: all.map(({ kid, createdAt, retiredAt }) => ({ kid, createdAt, retiredAt })), jwks: published });
      }),
    );
  return keys;
}

export function webhookCommands(): Command {
  const webhooks = new Command('webhooks').description('webhooks: secrets and deliveries');
  webhooks
    .command('secret')
    .description('print the secret that signs the webhooks of an account, and one that it replaces')
    .argument('<account>', 'id, acct_…')
    .action((id: string) =>
      withStore(async ({ store }) => {
        known(await store.accounts.get(id), 'account', id);
        const { secrets, serviceSecret, switchesAt } = await store.webhookSecrets.overview(id);
        const [secret, ...replaced] = secrets;
        print({ account: id, secret, replaced, serviceSignature: { secret: serviceSecret, switchesAt } });
      }),
    );
  webhooks
    .command('rotate-secret')
    .description('make a new secret; the old one signs for another 24 hours')
    .argument('<account>', 'id, acct_…')
    .action((id: string) =>
      withStore(async ({ store }) =>
        print({ account: id, secret: known(await store.webhookSecrets.rotate(id), 'account', id) }),
      ),
    );
  webhooks
    .command('switch-secret')
    .description('sign X-Service-Signature with the newest secret now, before the 24 hours of a rotation are over')
    .argument('<account>', 'id, acct_…')
    .action((id: string) =>
      withStore(async ({ store }) => {
        known(await store.accounts.get(id), 'account', id);
        print({ account: id, switched: await store.webhookSecrets.switchNow(id) });
      }),
    );
  webhooks
    .command('deliveries')
    .description('list the deliveries of an account with every try, newest first')
    .argument('<account>', 'id, acct_…')
    .option('--limit <number>', 'how many', positiveWhole, 50)
    .action((id: string, { limit }: { limit: number }) =>
      withStore(async ({ store }) => {
        known(await store.accounts.get(id), 'account', id);
        print(await store.deliveries.page({ accountId: id, limit }));
      }),
    );
  webhooks
    .command('resend')
    .description('send a delivery again, at once')
    .argument('<delivery>', 'id, evt_…')
    .action((id: string) =>
      withStore(async ({ store }) => print(known(await store.deliveries.resend(id), 'delivery', id))),
    );
  return webhooks;
}
