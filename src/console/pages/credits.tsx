/** Credits: balance, prices, usage per day and the ledger. */
import { Coins, Download } from 'lucide-react';
import { useState } from 'react';
import { Link } from 'wouter';
import type { LedgerEntry } from '../../contract/types.gen.ts';
import { fetchLedger, useLedger, useUsage } from '../api/account.ts';
import { useSession } from '../api/session.ts';
import { csv, saveText } from '../app/download.ts';
import { creditsInDollars, formatCount, formatCredits, formatDuration, formatSigned, formatTarget, plural, shortId } from '../app/format.ts';
import { Button } from '../ui/button.tsx';
import { useAction } from '../ui/dialog.tsx';
import { Empty, ErrorNotice, Load, LoadList } from '../ui/feedback.tsx';
import { More } from '../ui/more.tsx';
import { Figures, Page, Panel } from '../ui/panel.tsx';
import { Segmented } from '../ui/segmented.tsx';
import { num, Table } from '../ui/table.tsx';
import { DateTime } from '../ui/time.tsx';
import { LowCreditsNotice } from './low-credits.tsx';
import { UsagePlot } from './usage-plot.tsx';

export function CreditsPage() {
  const { account, pricing } = useSession();
  const price = (value: number) => `$${value.toFixed(2)}`;
  return (
    <Page title="Credits" intro="One credit is one US cent. Live jobs are charged per second of video when they are accepted, and refunded if they fail.">
      <LowCreditsNotice />
      <Figures
        figures={[
          { name: 'Live balance', value: formatCount(account.credits), unit: `credits · ${creditsInDollars(account.credits)}` },
          { name: 'Minute at 1080p', value: price(pricing.standard.per_minute['1080p']), unit: `Secure ${price(pricing.secure.per_minute['1080p'])}` },
          { name: `Minute at ${formatTarget('4k')}`, value: price(pricing.standard.per_minute['4k']), unit: `Secure ${price(pricing.secure.per_minute['4k'])}` },
        ]}
      />
      <Usage />
      <Ledger />
    </Page>
  );
}

function Usage() {
  const [days, setDays] = useState<'30' | '90'>('30');
  const usage = useUsage(days === '30' ? 30 : 90);
  const total = usage.data?.days.reduce((sum, day) => ({ credits: sum.credits + day.credits, seconds: sum.seconds + day.seconds, jobs: sum.jobs + day.jobs }), { credits: 0, seconds: 0, jobs: 0 });
  return (
    <Panel
      title="Usage per day"
      note="A day begins at midnight UTC."
      actions={<Segmented label="Period" value={days} onChange={setDays} options={[{ value: '30', label: '30 days' }, { value: '90', label: '90 days' }]} />}
      foot={total && `${formatCredits(total.credits)} for ${plural(total.jobs, 'job')}, ${formatDuration(total.seconds)} of video`}
    >
      <Load query={usage}>{(data) => <UsagePlot days={data.days} />}</Load>
    </Panel>
  );
}

const kinds: Record<LedgerEntry['kind'], string> = {
  grant: 'Grant',
  withdrawal: 'Withdrawal',
  charge: 'Charge',
  refund: 'Refund',
};

function Ledger() {
  const ledger = useLedger();
  return (
    <Panel title="Ledger" flush actions={ledger.data !== undefined && ledger.data.length > 0 && <Export />}>
      <LoadList
        query={ledger}
        empty={
          <Empty icon={Coins} title="No transfers yet">
            Grants, charges and refunds appear here, each with the balance after it.
          </Empty>
        }
      >
        {(entries) => <LedgerTable entries={entries} />}
      </LoadList>
      <More list={ledger} />
    </Panel>
  );
}

/** Saves the whole ledger for a spreadsheet. */
function Export() {
  const { run, busy, error } = useAction(async () => {
    const rows = (await fetchLedger()).map(({ at, kind, job_id: id, note, amount, balance }) => [at, kind, id ?? '', note, amount, balance]);
    saveText('ledger.csv', csv([['at', 'kind', 'job_id', 'note', 'credits', 'balance'], ...rows]), 'text/csv;charset=utf-8');
  });
  return (
    <>
      {error !== null && <ErrorNotice error={error} />}
      <Button size="small" busy={busy} onClick={run}>
        <Download size={14} aria-hidden="true" />
        Save as CSV
      </Button>
    </>
  );
}

function LedgerTable({ entries }: { entries: readonly LedgerEntry[] }) {
  return (
    <Table columns={['Kind', 'Job or note', num('Credits'), num('Balance'), num('Date')]}>
      {entries.map((entry) => (
        <tr key={entry.id}>
          <td data-label="Kind">{kinds[entry.kind]}</td>
          <td data-label="Job or note">
            <Subject entry={entry} />
          </td>
          <td data-label="Credits" className="num">
            {formatSigned(entry.amount)}
          </td>
          <td data-label="Balance" className="num">
            {formatCount(entry.balance)}
          </td>
          <td data-label="Date" className="num small muted">
            <DateTime at={entry.at} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

function Subject({ entry: { job_id: id, note } }: { entry: LedgerEntry }) {
  if (id === null) return <span className="muted">{note || '–'}</span>;
  return (
    <Link href={`/${id.startsWith('prv_') ? 'previews' : 'jobs'}/${id}`}>
      <code>{shortId(id)}</code>
    </Link>
  );
}
