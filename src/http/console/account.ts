/** Credits, retention, audit log and certificates of the session's account. */
import { Readable } from 'node:stream';
import { auditExportText } from '../../domain/audit-export.ts';
import { ReelmendError } from '../../domain/errors.ts';
import { auditPage, signHead } from '../audit-page.ts';
import type { ConsoleHandlers } from '../register.ts';
import type { WithConsole } from '../deps.ts';
import { ledgerPage } from '../ledger-page.ts';
import { pageOf } from '../paging.ts';
import { serializeConsoleAccount } from './serialize.ts';

type AccountHandlers = Pick<
  ConsoleHandlers,
  | 'consoleUpdateAccount'
  | 'consoleListLedger'
  | 'consoleGetUsage'
  | 'consoleListAuditLog'
  | 'consoleExportAuditLog'
  | 'consoleListCertificates'
>;

export function accountHandlers(deps: WithConsole): AccountHandlers {
  const { store } = deps.console;
  return {
    consoleUpdateAccount: async (c) => {
      const { account: before, user } = c.get('session');
      const { retention_days } = c.req.valid('json');
      const account = await store.accounts.setRetention(before.id, retention_days, { user_id: user.id });
      if (account === null) throw new ReelmendError('internal_error', 'The account no longer exists.');
      return c.json(serializeConsoleAccount(account), 200);
    },

    consoleListLedger: async (c) => {
      const { limit, starting_after } = c.req.valid('query');
      const accountId = c.get('session').account.id;
      return c.json(await ledgerPage(store, accountId, { limit, starting_after }), 200);
    },

    consoleGetUsage: async (c) => {
      const { days } = c.req.valid('query');
      const periods = await store.statements.usagePerDay(c.get('session').account.id, days);
      return c.json({ days: periods.map(({ period, ...sums }) => ({ date: period, ...sums })) }, 200);
    },

    consoleListAuditLog: async (c) => c.json(await auditPage(deps, c.get('session').account.id, c.req.valid('query')), 200),

    consoleExportAuditLog: async (c) => {
      const accountId = c.get('session').account.id;
      const head = await store.audit.head(accountId);
      const [signed, jwks] = [await signHead(deps, accountId, head), await deps.evidence.jwks()];
      const parts = auditExportText({ accountId, size: head.size, tail: { head: signed, jwks } }, (after, limit) =>
        store.audit.page({ accountId, after, upTo: head.size, limit }),
      );
      const headers = {
        'Content-Type': 'application/json',
        'Content-Disposition': `attachment; filename="audit-log-${accountId}.json"`,
      };
      // The type of a response body cannot be derived from a stream; the tests compare it with the contract.
      return c.body(streamOf(parts), 200, headers) as never;
    },

    consoleListCertificates: async (c) => {
      const { limit, starting_after, job_id } = c.req.valid('query');
      const accountId = c.get('session').account.id;
      const query = { accountId, limit: limit + 1, startingAfter: starting_after, jobId: job_id };
      const rows = await store.statements.certificates(query);
      const page = pageOf(rows, limit, {
        cursor: ({ id }) => id,
        serialize: ({ id, jobId, jws, issuedAt }) => ({
          id,
          job_id: jobId,
          issued_at: issuedAt.toISOString(),
          certificate: jws,
        }),
      });
      return c.json(page, 200);
    },
  };
}

/** A long log needs no more memory than a short one. */
function streamOf(parts: AsyncIterable<string>): ReadableStream<Uint8Array> {
  // Without objectMode, backpressure counts bytes and not chunks.
  return Readable.toWeb(Readable.from(parts, { objectMode: false })) as ReadableStream<Uint8Array>;
}
