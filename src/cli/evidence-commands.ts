/** `reelmend ledger|audit|certificates|signing-keys …`: the ledger and the signed evidence of a service. */
import { Command } from 'commander';
import { auditExportText } from '../domain/audit-export.ts';
import { known, type Opened, withStore } from './with-store.ts';
import { show } from './table.ts';
import { terminal } from './terminal.ts';

/** Checks the ledger. Exit status 1 when a rule is broken. */
async function checkLedger(): Promise<void> {
  await withStore(async ({ store }) => {
    const [sums, violations] = [await store.ledgerSums(), await store.ledgerCheck()];
    show({ ok: violations.length === 0, sums, violations });
    if (violations.length > 0) terminal().status = 1;
  });
}

export function ledgerCommands(): Command {
  const ledger = new Command('ledger').description('check the ledger');
  ledger
    .command('check')
    .description('check that the ledger balances and that all references are valid; exit status 1 if not')
    .action(checkLedger);
  return ledger;
}

/** `… export ACCOUNT`: prints what `write` writes for an account. */
function exportCommand(what: string, write: (opened: Opened, accountId: string) => Promise<void>): Command {
  return new Command('export')
    .description(what)
    .argument('<account>', 'id, acct_…')
    .action((id: string) =>
      withStore(async (opened) => {
        known(await opened.store.accounts.get(id), 'account', id);
        await write(opened, id);
      }),
    );
}

/** Exports the whole log with its signed head and the public keys: everything that `verify audit-log` needs. */
async function exportAuditLog({ store, evidence }: Opened, accountId: string) {
  const log = await store.audit.head(accountId);
  const head = await evidence.signHead({ account_id: accountId, ...log, signed_at: new Date().toISOString() });
  const parts = auditExportText({ accountId, size: log.size, tail: { head, jwks: await evidence.jwks() } }, (after, limit) =>
    store.audit.page({ accountId, after, upTo: log.size, limit }),
  );
  for await (const part of parts) await terminal().stdoutBytes(Buffer.from(part));
  await terminal().stdoutBytes(Buffer.from('\n'));
}

export function auditCommands(): Command {
  const audit = new Command('audit').description('export audit logs');
  audit.addCommand(
    exportCommand("print an account's whole log with its signed head and the public keys as JSON", exportAuditLog),
  );
  return audit;
}

/** Exports every certificate with the public keys: everything that `verify certificate` needs. */
async function exportCertificates({ store, evidence }: Opened, accountId: string) {
  const write = (text: string) => terminal().stdoutBytes(Buffer.from(text));
  const [pending, jwks] = [await store.certificates.pending(accountId), await evidence.jwks()];
  await write(`{"account_id":${JSON.stringify(accountId)},"certificates":[`);
  let separator = '\n';
  // In parts: certificates of many years are longer than the longest string.
  for await (const page of store.certificates.pages(accountId)) {
    const lines = page.map(({ jobId, jws, issuedAt }) => JSON.stringify({ job_id: jobId, certificate: jws, issued_at: issuedAt }));
    if (lines.length > 0) await write(separator + lines.join(',\n'));
    separator = ',\n';
  }
  await write(`\n],"pending":${pending},"jwks":${JSON.stringify(jwks)}}\n`);
}

export function certificateCommands(): Command {
  const certificates = new Command('certificates').description('export deletion certificates');
  const what = 'print all deletion certificates of an open or closed account with the public keys as JSON';
  certificates.addCommand(exportCommand(what, exportCertificates));
  return certificates;
}

export function signingKeyCommands(): Command {
  const keys = new Command('signing-keys').description('manage the keys that sign certificates and audit logs');
  keys
    .command('rotate')
    .description('create a new signing key; old keys stay published')
    .action(() => withStore(async ({ evidence }) => show({ kid: await evidence.rotate() })));
  keys
    .command('list')
    .description('list the keys, oldest first, and the published key set')
    .action(() =>
      withStore(async ({ store, evidence }) => {
        const published = await evidence.jwks();
        const all = await store.signingKeys.list();
        show({ keys: all.map(({ kid, createdAt, retiredAt }) => ({ kid, createdAt, retiredAt })), jwks: published });
      }),
    );
  return keys;
}
