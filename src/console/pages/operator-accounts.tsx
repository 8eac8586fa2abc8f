/** Accounts: approving, rejecting and closing them, credits, plans, quotas and people. */
import { useQueryClient } from '@tanstack/react-query';
import { Check, Coins, Gauge, type LucideIcon, MoreHorizontal, Search, Tag, Trash2, Undo2, Users, X } from 'lucide-react';
import { useDeferredValue, useState } from 'react';
import type { OperatorAccount } from '../../contract/types.gen.ts';
import { type ApprovalState, decide, useAccounts } from '../api/operator.ts';
import { creditsInDollars, formatCount, isolate } from '../app/format.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { useAction } from '../ui/dialog.tsx';
import { Badge, Empty, LoadList, type Tone } from '../ui/feedback.tsx';
import { Menu, MenuItem } from '../ui/menu.tsx';
import { More } from '../ui/more.tsx';
import { Page, Panel } from '../ui/panel.tsx';
import { Segmented } from '../ui/segmented.tsx';
import { CloseDialog, GrantDialog, PlanDialog, QuotasDialog, RejectDialog, WithdrawDialog } from './operator-account-dialogs.tsx';
import { PeopleDialog } from './operator-people.tsx';
import { hidden, num, Table } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';
import { toast, toastFailure } from '../ui/toasts.tsx';

type Filter = ApprovalState | 'all';
type Open = { kind: 'grant' | 'withdraw' | 'plan' | 'quotas' | 'close' | 'reject' | 'people'; account: OperatorAccount };

const looks: Record<ApprovalState, { tone: Tone; text: string }> = {
  pending: { tone: 'warn', text: 'Pending' },
  approved: { tone: 'good', text: 'Approved' },
  rejected: { tone: 'bad', text: 'Rejected' },
};

const filters: readonly { value: Filter; label: string }[] = [
  { value: 'pending', label: 'Pending' },
  { value: 'approved', label: 'Approved' },
  { value: 'rejected', label: 'Rejected' },
  { value: 'all', label: 'All' },
];

export function OperatorAccountsPage() {
  const [filter, setFilter] = useState<Filter>('pending');
  const [text, setText] = useState('');
  const search = useDeferredValue(text.trim());
  const list = useAccounts({ ...(filter === 'all' ? {} : { state: filter }), ...(search === '' ? {} : { q: search }) });
  const find = (next: string) => {
    // A search begins in all states; a state that is chosen then narrows it.
    if (text === '') setFilter('all');
    setText(next);
  };
  const client = useQueryClient();
  const [open, setOpen] = useState<Open | null>(null);
  const refresh = () => client.invalidateQueries({ queryKey: ['operator'] });
  const approve = (account: OperatorAccount) =>
    toastFailure(async () => {
      await decide(account.id, 'approved');
      toast(`${isolate(account.name)} is approved.`);
      await refresh();
    });
  return (
    <Page title="Accounts" intro="New accounts can use test mode only, until you approve them. The account’s audit log records your decisions and grants.">
      <Panel title="Accounts" flush actions={<Segmented<Filter> label="State" value={filter} onChange={setFilter} options={filters} />}>
        <AccountSearch text={text} onChange={find} />
        <LoadList query={list} empty={<NoAccounts filter={filter} search={search} />}>
          {(accounts) => <AccountTable accounts={accounts} onApprove={approve} onOpen={setOpen} />}
        </LoadList>
        <More list={list} />
      </Panel>
      {open !== null && <AccountDialog open={{ ...open, account: newest(open.account, list.data) }} onClose={() => setOpen(null)} onDone={refresh} />}
    </Page>
  );
}

function AccountSearch({ text, onChange }: { text: string; onChange: (text: string) => void }) {
  const label = 'Find by name, email or id';
  return (
    <div className="toolbar" role="search" aria-label="Accounts">
      <div className="search">
        <Search size={15} aria-hidden="true" />
        <input className="input" type="search" aria-label={label} placeholder={label} maxLength={254} value={text} onChange={(event) => onChange(event.target.value)} />
      </div>
    </div>
  );
}

function NoAccounts({ filter, search }: { filter: Filter; search: string }) {
  if (search !== '') return <Empty icon={Search} title="No account matches" />;
  return <Empty icon={Users} title={filter === 'pending' ? 'No account is waiting for approval' : 'No accounts in this state'} />;
}

/** The account as the list has it now: a dialog stays open while it changes. */
const newest = (account: OperatorAccount, accounts: readonly OperatorAccount[] = []) => accounts.find(({ id }) => id === account.id) ?? account;

interface TableProps {
  accounts: readonly OperatorAccount[];
  onApprove: (account: OperatorAccount) => Promise<void>;
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
  const approval = useAction(() => onApprove(account));
  return (
    <tr>
      <td data-label="Account">
        <span>
          <strong className="wrap-anywhere">{account.name}</strong>
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
            <Button size="small" tone="primary" busy={approval.busy} onClick={approval.run} aria-label={`Approve ${isolate(account.name)}`}>
              <Check size={14} aria-hidden="true" />
              Approve
            </Button>
          )}
          <AccountMenu account={account} onOpen={onOpen} />
        </span>
      </td>
    </tr>
  );
}

interface MenuProps {
  account: OperatorAccount;
  onOpen: (open: Open) => void;
}

function AccountMenu({ account, onOpen }: MenuProps) {
  const item = (Icon: LucideIcon, text: string, kind: Open['kind'], danger = false) => (
    <MenuItem danger={danger} onSelect={() => onOpen({ kind, account })}>
      <Icon size={15} aria-hidden="true" />
      {text}
    </MenuItem>
  );
  return (
    <Menu
      trigger={
        <IconButton label={`Actions for ${isolate(account.name)}`} tone="quiet" size="small">
          <MoreHorizontal size={16} aria-hidden="true" />
        </IconButton>
      }
    >
      {item(Coins, 'Grant credits', 'grant')}
      {item(Undo2, 'Withdraw credits', 'withdraw')}
      {item(Tag, 'Set the plan', 'plan')}
      {item(Gauge, 'Set quotas', 'quotas')}
      {item(Users, 'People', 'people')}
      {account.approval_status !== 'rejected' && item(X, 'Reject', 'reject', true)}
      {!account.people.some(({ operator }) => operator) && item(Trash2, 'Close', 'close', true)}
    </Menu>
  );
}

interface DialogsProps {
  open: Open;
  onClose: () => void;
  onDone: () => Promise<unknown>;
}

function AccountDialog({ open: { kind, account }, onClose, onDone }: DialogsProps) {
  const props = { account, onClose, onDone };
  switch (kind) {
    case 'grant':
      return <GrantDialog {...props} />;
    case 'withdraw':
      return <WithdrawDialog {...props} />;
    case 'plan':
      return <PlanDialog {...props} />;
    case 'quotas':
      return <QuotasDialog {...props} />;
    case 'close':
      return <CloseDialog {...props} />;
    case 'people':
      return <PeopleDialog account={account} onClose={onClose} />;
    case 'reject':
      return <RejectDialog {...props} />;
  }
}
