/** API keys: creating, rotating and revoking them. A new key is shown once. */
import { useQueryClient } from '@tanstack/react-query';
import { KeyRound, MoreHorizontal, Pencil, Plus, RefreshCw, Trash2 } from 'lucide-react';
import { useState } from 'react';
import type { ConsoleKey, KeyAccess, Mode, Tier } from '../../contract/types.gen.ts';
import { createKey, renameKey, revokeKey, rotateKey, useKeys } from '../api/account.ts';
import { useIsAdmin, useSession } from '../api/session.ts';
import { plural } from '../app/format.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { CodeBlock } from '../ui/code.tsx';
import { ConfirmDialog, useAction } from '../ui/dialog.tsx';
import { Badge, Empty, LoadList, type Tone } from '../ui/feedback.tsx';
import { Choices, SelectField, TextField } from '../ui/field.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { ModeBadge, TierBadge } from '../ui/job-status.tsx';
import { Menu, MenuItem } from '../ui/menu.tsx';
import { More } from '../ui/more.tsx';
import { Page, Panel } from '../ui/panel.tsx';
import { ShownOnce, useShowOnce } from '../ui/shown-once.tsx';
import { hidden, Table } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';

type Open = { kind: 'create' } | { kind: 'rename' | 'rotate' | 'revoke'; key: ConsoleKey };

export function KeysPage() {
  const list = useKeys();
  const client = useQueryClient();
  const [open, setOpen] = useState<Open | null>(null);
  const close = () => setOpen(null);
  const showOnce = useShowOnce();
  const show = (key: ConsoleKey, secret: string) => {
    showOnce((onClose) => <NewKey keyRecord={key} secret={secret} onClose={onClose} />);
    void client.invalidateQueries({ queryKey: ['keys'] });
  };
  const isAdmin = useIsAdmin();
  const create = isAdmin && (
    <Button tone="primary" onClick={() => setOpen({ kind: 'create' })}>
      <Plus size={15} aria-hidden="true" />
      Create a key
    </Button>
  );
  return (
    <Page title="API keys" intro="Your server sends a key as a bearer token. The service stores only its hash, so a key is shown only once." actions={create}>
      <Panel title="Keys" flush>
        <LoadList
          query={list}
          empty={
            <Empty icon={KeyRound} title="No keys yet" action={create}>
              {isAdmin ? 'Start with a test key. It works immediately and is free.' : 'An admin of the account creates keys.'}
            </Empty>
          }
        >
          {(keys) => <KeyTable keys={keys} onOpen={setOpen} />}
        </LoadList>
        <More list={list} />
      </Panel>
      {open?.kind === 'create' && <CreateDialog onClose={close} onCreated={show} />}
      {open?.kind === 'rename' && <RenameDialog old={open.key} onClose={close} />}
      {open?.kind === 'rotate' && <RotateDialog old={open.key} onClose={close} onRotated={show} />}
      {open?.kind === 'revoke' && <RevokeDialog old={open.key} onClose={close} />}
    </Page>
  );
}

const states: Record<ConsoleKey['state'], { tone: Tone; text: string }> = {
  active: { tone: 'good', text: 'Active' },
  expiring: { tone: 'warn', text: 'Replaced' },
  expired: { tone: 'plain', text: 'Expired' },
  revoked: { tone: 'plain', text: 'Revoked' },
};

const accesses: Record<KeyAccess, string> = { full: 'Full', read_only: 'Read only', create_only: 'Create only' };

/** characters; the limit of the contract */
const longestName = 100;

function masked({ mode, last_four }: ConsoleKey): string {
  return `svc_${mode}_…${last_four}`;
}

function KeyTable({ keys, onOpen }: { keys: readonly ConsoleKey[]; onOpen: (open: Open) => void }) {
  return (
    <Table columns={['Key', 'Mode', 'Tier', 'Access', 'State', 'Last used', 'Created', hidden('Actions')]}>
      {keys.map((key) => (
        <KeyRow key={key.id} record={key} onOpen={onOpen} />
      ))}
    </Table>
  );
}

interface KeyRowProps {
  record: ConsoleKey;
  onOpen: (open: Open) => void;
}

function KeyRow({ record, onOpen }: KeyRowProps) {
  const isAdmin = useIsAdmin();
  const { tone, text } = states[record.state];
  const works = record.state === 'active' || record.state === 'expiring';
  return (
    <tr>
      <td data-label="Key">
        <div>
          {record.name !== '' && <div className="wrap-anywhere">{record.name}</div>}
          <code title={record.id}>{masked(record)}</code>
        </div>
      </td>
      <td data-label="Mode">
        <ModeBadge mode={record.mode} />
      </td>
      <td data-label="Tier">
        <TierBadge tier={record.tier} />
      </td>
      <td data-label="Access">{accesses[record.access]}</td>
      <td data-label="State">
        <span className="row">
          <Badge tone={tone}>{text}</Badge>
          {record.state === 'expiring' && record.expires_at !== null && (
            <span className="small muted">
              expires <Ago at={record.expires_at} />
            </span>
          )}
        </span>
      </td>
      <td data-label="Last used" className="small muted">
        {record.last_used_at === null ? 'never' : <Ago at={record.last_used_at} />}
      </td>
      <td data-label="Created" className="small muted">
        <Ago at={record.created_at} />
      </td>
      <td className="acts">
        {works && isAdmin && <KeyMenu record={record} onOpen={onOpen} />}
      </td>
    </tr>
  );
}

function KeyMenu({ record, onOpen }: KeyRowProps) {
  return (
    <Menu
      trigger={
        <IconButton label={`Actions for ${masked(record)}`} tone="quiet" size="small">
          <MoreHorizontal size={16} aria-hidden="true" />
        </IconButton>
      }
    >
      <MenuItem onSelect={() => onOpen({ kind: 'rename', key: record })}>
        <Pencil size={15} aria-hidden="true" />
        Rename
      </MenuItem>
      {record.state === 'active' && (
        <MenuItem onSelect={() => onOpen({ kind: 'rotate', key: record })}>
          <RefreshCw size={15} aria-hidden="true" />
          Rotate
        </MenuItem>
      )}
      <MenuItem danger onSelect={() => onOpen({ kind: 'revoke', key: record })}>
        <Trash2 size={15} aria-hidden="true" />
        Revoke
      </MenuItem>
    </Menu>
  );
}

interface CreateProps {
  onClose: () => void;
  onCreated: (key: ConsoleKey, secret: string) => void;
}

function CreateDialog({ onClose, onCreated }: CreateProps) {
  const [mode, setMode] = useState<Mode>('test');
  const [tier, setTier] = useState<Tier>('standard');
  const [access, setAccess] = useState<KeyAccess>('full');
  const [name, setName] = useState('');
  const form = useAction(async () => {
    const { key, secret } = await createKey({ mode, tier, access, name });
    onCreated(key, secret);
  }, onClose);
  return (
    <FormDialog title="Create a key" action="Create" onClose={onClose} {...form}>
      <NameField value={name} hint="What you use it for. The audit log names it." onChange={setName} />
      <ModeChoices value={mode} onChange={setMode} />
      <Choices<Tier> label="Tier" value={tier} onChange={setTier} choices={tierChoices} />
      <Choices<KeyAccess> label="Access" value={access} onChange={setAccess} choices={accessChoices} />
    </FormDialog>
  );
}

const tierChoices = [
  { value: 'standard', title: 'Standard', text: 'For most uses.' },
  { value: 'secure', title: 'Secure', text: 'Adds deletion certificates, the audit log and a retention setting.' },
] as const;

const accessChoices = [
  { value: 'full', title: 'Full', text: 'Everything.' },
  { value: 'read_only', title: 'Read only', text: 'Reads jobs, results and the account. Changes nothing.' },
  { value: 'create_only', title: 'Create only', text: 'Creates jobs, quotes, previews and uploads. Reads and deletes nothing.' },
] as const;

function ModeChoices({ value, onChange }: { value: Mode; onChange: (mode: Mode) => void }) {
  const approved = useSession().account.approval_status === 'approved';
  return (
    <Choices<Mode>
      label="Mode"
      value={value}
      onChange={onChange}
      choices={[
        { value: 'test', title: 'Test', text: 'Simulated jobs, free.' },
        { value: 'live', title: 'Live', text: approved ? 'Enhances videos and charges you.' : 'Works once the account is approved.' },
      ]}
    />
  );
}

function NameField({ value, hint, onChange }: { value: string; hint?: string; onChange: (name: string) => void }) {
  return <TextField label="Name" hint={hint} value={value} maxLength={longestName} onChange={(event) => onChange(event.target.value)} />;
}

function RenameDialog({ old, onClose }: { old: ConsoleKey; onClose: () => void }) {
  const client = useQueryClient();
  const [name, setName] = useState(old.name);
  const form = useAction(async () => {
    await renameKey(old.id, name);
    await client.invalidateQueries({ queryKey: ['keys'] });
  }, onClose);
  return (
    <FormDialog title={`Rename ${masked(old)}`} action="Rename" onClose={onClose} {...form}>
      <NameField value={name} onChange={setName} />
    </FormDialog>
  );
}

function RotateDialog({ old, onClose, onRotated }: { old: ConsoleKey; onClose: () => void; onRotated: CreateProps['onCreated'] }) {
  const [days, setDays] = useState('1');
  const form = useAction(async () => {
    const { key, secret } = await rotateKey(old.id, Number(days));
    onRotated(key, secret);
  }, onClose);
  return (
    <FormDialog title={`Rotate ${masked(old)}`} action="Rotate" onClose={onClose} {...form}>
      <p className="muted">Creates a new key with the same mode, tier, name and access. Both keys work until the old one expires.</p>
      <SelectField label="The old key works for" value={days} onChange={(event) => setDays(event.target.value)}>
        <option value="0">no longer (expires now)</option>
        {[1, 2, 3, 5, 7].map((count) => (
          <option key={count} value={count}>
            {plural(count, 'more day')}
          </option>
        ))}
      </SelectField>
    </FormDialog>
  );
}

function RevokeDialog({ old, onClose }: { old: ConsoleKey; onClose: () => void }) {
  const client = useQueryClient();
  return (
    <ConfirmDialog
      title={`Revoke ${masked(old)}?`}
      action="Revoke"
      danger
      onClose={onClose}
      onConfirm={async () => {
        await revokeKey(old.id);
        toast('The key is revoked.');
        await client.invalidateQueries({ queryKey: ['keys'] });
      }}
    >
      <p>The key stops working immediately and permanently. Its jobs continue.</p>
    </ConfirmDialog>
  );
}

function NewKey({ keyRecord, secret, onClose }: { keyRecord: ConsoleKey; secret: string; onClose: () => void }) {
  const call = `curl ${window.location.origin}/v1/account -H "Authorization: Bearer ${secret}"`;
  const note = 'It is shown only once. The service stores only its hash.';
  return (
    <ShownOnce title="Your new key" label={`the ${keyRecord.mode} key`} {...{ secret, note, onClose }}>
      <div className="stack-s">
        <span className="small muted">Try it:</span>
        <CodeBlock text={call} wrap label="test call" />
      </div>
    </ShownOnce>
  );
}
