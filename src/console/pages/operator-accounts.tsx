/** Accounts: approving, rejecting and closing them, credits, plans, quotas and people. */
import { useQueryClient } from '@tanstack/react-query';
import { Check, Coins, Gauge, MoreHorizontal, Tag, Trash2, Undo2, Users, X } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import type { OperatorAccount } from '../../contract/types.gen.ts';
import { sentenceOf } from '../api/client.ts';
import { type ApprovalState, decide, grant, useAccounts } from '../api/operator.ts';
import { creditsInDollars, formatCount } from '../app/format.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { ConfirmDialog, Dialog, useAction } from '../ui/dialog.tsx';
import { Badge, Empty, ErrorNotice, Load, type Tone } from '../ui/feedback.tsx';
import { TextField } from '../ui/field.tsx';
import { Menu, MenuItem } from '../ui/menu.tsx';
import { More } from '../ui/more.tsx';
import { Page, Panel } from '../ui/panel.tsx';
import { Segmented } from '../ui/segmented.tsx';
import { CloseDialog, PlanDialog, QuotasDialog, WithdrawDialog } from './operator-account-dialogs.tsx';
import { PeopleDialog } from './operator-people.tsx';
import { hidden, num, Table } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';

type Filter = ApprovalState | 'all';
type Open = { kind: 'grant' | 'withdraw' | 'plan' | 'quotas' | 'close' | 'reject' | 'people'; account: OperatorAccount };

const looks: Record<ApprovalState, { tone: Tone; text: string }> = {
  pending: { tone: 'warn', text: 'Pending' },
  approved: { tone: 'good', text: 'Approved' },
  rejected: { tone: 'bad', text: 'Rejected' },
};

export function OperatorAccountsPage() {
  const [filter, setFilter] = useState<Filter>('pending');
  const list = useAccounts(filter === 'all' ? undefined : filter);
  const client = useQueryClient();
  const [open, setOpen] = useState<Open | null>(null);
  const refresh = () => client.invalidateQueries({ queryKey: ['operator'] });
  const approve = async (account: OperatorAccount) => {
    try {
      await decide(account.id, 'approved');
      toast(`${account.name} is approved.`);
      await refresh();
    } catch (error) {
      toast(sentenceOf(error), 'bad');
    }
  };
  return (
    <Page title="Accounts" intro="New accounts can use test mode only, until you approve them. The account’s audit log records your decisions and grants.">
      <Panel
        title="Accounts"
        flush
        actions={
          <Segmented<Filter>
            label="State"
            value={filter}
            onChange={setFilter}
            options={[
              { value: 'pending', label: 'Pending' },
              { value: 'approved', label: 'Approved' },
              { value: 'rejected', label: 'Rejected' },
              { value: 'all', label: 'All' },
            ]}
          />
        }
      >
        <Load query={list}>
          {(accounts) =>
            accounts.length === 0 ? (
              <Empty icon={Users} title={filter === 'pending' ? 'No account is waiting for approval' : 'No accounts in this state'} />
            ) : (
              <AccountTable accounts={accounts} onApprove={(account) => void approve(account)} onOpen={setOpen} />
            )
          }
        </Load>
        <More list={list} />
      </Panel>
      {open?.kind === 'grant' && <GrantDialog account={open.account} onClose={() => setOpen(null)} onDone={() => void refresh()} />}
      {open?.kind === 'withdraw' && <WithdrawDialog account={open.account} onClose={() => setOpen(null)} onDone={() => void refresh()} />}
      {open?.kind === 'plan' && <PlanDialog account={open.account} onClose={() => setOpen(null)} onDone={() => void refresh()} />}
      {open?.kind === 'quotas' && <QuotasDialog account={open.account} onClose={() => setOpen(null)} onDone={() => void refresh()} />}
      {open?.kind === 'close' && <CloseDialog account={open.account} onClose={() => setOpen(null)} onDone={() => void refresh()} />}
      {open?.kind === 'people' && <PeopleDialog account={open.account} onClose={() => setOpen(null)} />}
      {open?.kind === 'reject' && (
        <ConfirmDialog
          title={`Reject ${open.account.name}?`}
          action="Reject"
          danger
          onClose={() => setOpen(null)}
          onConfirm={async () => {
            await decide(open.account.id, 'rejected');
            await refresh();
          }}
        >
          <p>Its live keys stop working; test mode stays available. You can approve it later.</p>
        </ConfirmDialog>
      )}
    </Page>
  );
}

interface TableProps {
  accounts: readonly OperatorAccount[];
  onApprove: (account: OperatorAccount) => void;
  onOpen: (open: Open) => void;
}

function AccountTable({ accounts, onApprove, onOpen }: TableProps) {
  return (
    <Table columns={['Account', 'State', num('Credits'), num('Keys'), 'Created', hidden('Actions')]}>
      {accounts.map((account) => (
        <AccountRow key={account.id} account={account} onApprove={onApprove} onOpen={onOpen} />
      ))}
    </Table>
  );
}

function AccountRow({ account, onApprove, onOpen }: Omit<TableProps, 'accounts'> & { account: OperatorAccount }) {
  const { tone, text } = looks[account.approval_status];
  return (
    <tr>
      <td data-label="Account">
        <span>
          <strong>{account.name}</strong>
          <br />
          <span className="small muted wrap-anywhere" title={account.id}>
            {account.emails.join(', ') || account.id}
          </span>
        </span>
      </td>
      <td data-label="State">
        <Badge tone={tone}>{text}</Badge>
      </td>
      <td data-label="Credits" className="num" title={creditsInDollars(account.credits)}>
        {formatCount(account.credits)}
      </td>
      <td data-label="Keys" className="num">
        {formatCount(account.active_keys)}
      </td>
      <td data-label="Created" className="small muted">
        <Ago at={account.created_at} />
      </td>
      <td className="acts">
        <span className="row" style={{ justifyContent: 'flex-end', flexWrap: 'nowrap' }}>
          {account.approval_status !== 'approved' && (
            <Button size="small" tone="primary" onClick={() => onApprove(account)} aria-label={`Approve ${account.name}`}>
              <Check size={14} aria-hidden="true" />
              Approve
            </Button>
          )}
          <Menu
            trigger={
              <IconButton label={`Actions for ${account.name}`} tone="quiet" size="small">
                <MoreHorizontal size={16} aria-hidden="true" />
              </IconButton>
            }
          >
            <MenuItem onSelect={() => onOpen({ kind: 'grant', account })}>
              <Coins size={15} aria-hidden="true" />
              Grant credits
            </MenuItem>
            <MenuItem onSelect={() => onOpen({ kind: 'withdraw', account })}>
              <Undo2 size={15} aria-hidden="true" />
              Withdraw credits
            </MenuItem>
            <MenuItem onSelect={() => onOpen({ kind: 'plan', account })}>
              <Tag size={15} aria-hidden="true" />
              Set the plan
            </MenuItem>
            <MenuItem onSelect={() => onOpen({ kind: 'quotas', account })}>
              <Gauge size={15} aria-hidden="true" />
              Set quotas
            </MenuItem>
            <MenuItem onSelect={() => onOpen({ kind: 'people', account })}>
              <Users size={15} aria-hidden="true" />
              People
            </MenuItem>
            {account.approval_status !== 'rejected' && (
              <MenuItem danger onSelect={() => onOpen({ kind: 'reject', account })}>
                <X size={15} aria-hidden="true" />
                Reject
              </MenuItem>
            )}
            {!account.people.some(({ operator }) => operator) && (
              <MenuItem danger onSelect={() => onOpen({ kind: 'close', account })}>
                <Trash2 size={15} aria-hidden="true" />
                Close
              </MenuItem>
            )}
          </Menu>
        </span>
      </td>
    </tr>
  );
}

function GrantDialog({ account, onClose, onDone }: { account: OperatorAccount; onClose: () => void; onDone: () => void }) {
  const [credits, setCredits] = useState('1000');
  const [note, setNote] = useState('');
  const amount = Number(credits);
  const { run, busy, error } = useAction(
    async () => {
      await grant(account.id, { credits: amount, ...(note.trim() === '' ? {} : { note: note.trim() }) });
      toast(`Granted ${formatCount(amount)} credits to ${account.name}.`);
      onDone();
    },
    onClose,
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    run();
  };
  return (
    <Dialog title={`Grant credits to ${account.name}`} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <TextField
          label="Credits"
          type="number"
          inputMode="numeric"
          min={1}
          max={1_000_000_000}
          required
          value={credits}
          hint={Number.isInteger(amount) && amount > 0 ? `${creditsInDollars(amount)}. The new balance is ${formatCount(account.credits + amount)}.` : 'Enter a whole number.'}
          onChange={(event) => setCredits(event.target.value)}
        />
        <TextField label="Note (optional)" maxLength={200} value={note} hint="Recorded in the ledger, where the customer can read it." onChange={(event) => setNote(event.target.value)} />
        {error !== null && <ErrorNotice error={error} />}
        <div className="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="primary" busy={busy}>
            Grant
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
