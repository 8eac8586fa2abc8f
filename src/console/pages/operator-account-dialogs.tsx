/** What operators do with one account, except approving it. */
import { useState } from 'react';
import type { OperatorAccount } from '../../contract/types.gen.ts';
import { problemOf } from '../api/client.ts';
import { closeAccount, decide, grant, setPlan, setQuotas, withdraw } from '../api/operator.ts';
import { creditsInDollars, formatCount, isolate } from '../app/format.ts';
import { sendOnce } from '../app/idempotency-keys.ts';
import { ConfirmDialog, useAction } from '../ui/dialog.tsx';
import { Notice } from '../ui/feedback.tsx';
import { TextField } from '../ui/field.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { toast } from '../ui/toasts.tsx';

interface Props {
  account: OperatorAccount;
  onClose: () => void;
  onDone: () => Promise<unknown>;
}

export function GrantDialog({ account, onClose, onDone }: Props) {
  const [credits, setCredits] = useState('1000');
  const [note, setNote] = useState('');
  const amount = Number(credits);
  const form = useAction(async () => {
    const body = { credits: amount, ...(note.trim() === '' ? {} : { note: note.trim() }) };
    const { credits: balance } = await sendOnce({ grant: body, to: account.id }, (key) => grant(account.id, body, key));
    toast(`Granted ${formatCount(amount)} credits to ${isolate(account.name)}. The balance is ${formatCount(balance)}.`);
    void onDone();
  }, onClose);
  return (
    <FormDialog title={`Grant credits to ${isolate(account.name)}`} action="Grant" onClose={onClose} {...form}>
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
      <NoteField value={note} onChange={setNote} />
    </FormDialog>
  );
}

export function WithdrawDialog({ account, onClose, onDone }: Props) {
  const [credits, setCredits] = useState('');
  const [note, setNote] = useState('');
  const amount = Number(credits);
  const left = account.credits - amount;
  const form = useAction(async () => {
    const body = { credits: amount, ...(note.trim() === '' ? {} : { note: note.trim() }) };
    const { credits: balance } = await sendOnce({ withdrawal: body, from: account.id }, (key) => withdraw(account.id, body, key));
    toast(`Withdrew ${formatCount(amount)} credits from ${isolate(account.name)}. The balance is ${formatCount(balance)}.`);
    void onDone();
  }, onClose);
  return (
    <FormDialog title={`Withdraw credits from ${isolate(account.name)}`} action="Withdraw" onClose={onClose} {...form}>
      <TextField
        label="Credits"
        type="number"
        inputMode="numeric"
        min={1}
        max={Math.max(1, account.credits)}
        required
        autoFocus
        value={credits}
        hint={Number.isInteger(amount) && amount > 0 && left >= 0 ? `${creditsInDollars(amount)}. The new balance is ${formatCount(left)}.` : `The account has ${formatCount(account.credits)}.`}
        onChange={(event) => setCredits(event.target.value)}
      />
      <NoteField value={note} onChange={setNote} />
    </FormDialog>
  );
}

function NoteField({ value, onChange }: { value: string; onChange: (note: string) => void }) {
  return <TextField label="Note (optional)" maxLength={200} value={value} hint="Recorded in the ledger, where the customer can read it." onChange={(event) => onChange(event.target.value)} />;
}

export function PlanDialog({ account, onClose, onDone }: Props) {
  const [plan, choosePlan] = useState(account.plan);
  const form = useAction(async () => {
    await setPlan(account.id, plan);
    toast(`${isolate(account.name)} has the plan ${plan}.`);
    void onDone();
  }, onClose);
  return (
    <FormDialog title={`Plan of ${isolate(account.name)}`} action="Save" onClose={onClose} {...form}>
      <TextField label="Plan" required autoFocus maxLength={50} pattern="[0-9A-Za-z_\-]+" value={plan} hint="A name that the account shows: letters, digits, - and _. It changes no price." onChange={(event) => choosePlan(event.target.value)} />
    </FormDialog>
  );
}

type Quotas = OperatorAccount['quotas'];
type QuotaName = keyof Quotas;

/** `unit`: the factor from the field's unit to the contract's. */
const quotaFields: readonly { name: QuotaName; label: string; unit: number; max: number }[] = [
  { name: 'jobs_per_day', label: 'Live jobs and previews per day', unit: 1, max: 1_000_000 },
  { name: 'parallel_enhancements', label: 'Videos enhanced at a time', unit: 1, max: 10_000 },
  { name: 'upload_quota_bytes', label: 'Uploads together, GB', unit: 1_000_000_000, max: 1_000_000 },
  { name: 'create_per_minute', label: 'Calls that create, per minute', unit: 1, max: 1_000_000 },
  { name: 'read_per_minute', label: 'Calls that read, per minute', unit: 1, max: 1_000_000 },
  { name: 'other_per_minute', label: 'Other calls per minute', unit: 1, max: 1_000_000 },
];

/** An empty field uses the service's setting. */
export function QuotasDialog({ account, onClose, onDone }: Props) {
  const { quotas, default_quotas: defaults } = account;
  const [before] = useState(() => Object.fromEntries(quotaFields.map(({ name, unit }) => [name, quotas[name] === null ? '' : String(quotas[name] / unit)])));
  const [texts, setTexts] = useState(before);
  const form = useAction(async () => {
    // Only these: another operator may have changed the others meanwhile.
    const changed = quotaFields.filter(({ name }) => texts[name] !== before[name]);
    const changes = changed.map(({ name, unit }) => [name, texts[name] === '' ? null : Math.round(Number(texts[name]) * unit)]);
    await setQuotas(account.id, Object.fromEntries(changes) as Partial<Quotas>);
    toast(`The quotas of ${isolate(account.name)} are saved.`);
    void onDone();
  }, onClose);
  return (
    <FormDialog title={`Quotas of ${isolate(account.name)}`} action="Save" onClose={onClose} {...form}>
      <p className="muted">An empty field follows the service’s setting. Calls are counted for each key. The account’s audit log records the change.</p>
      <div className="form-grid">
        {quotaFields.map(({ name, label, unit, max }, index) => (
          <TextField
            key={name}
            label={label}
            type="number"
            inputMode="decimal"
            autoFocus={index === 0}
            // Any whole number in the contract's unit: the command line may have set it.
            min={1 / unit}
            step={unit === 1 ? 1 : 'any'}
            max={max}
            value={texts[name] ?? ''}
            placeholder={defaults[name] === null ? 'no limit' : formatCount(defaults[name] / unit)}
            onChange={(event) => setTexts({ ...texts, [name]: event.target.value })}
          />
        ))}
      </div>
    </FormDialog>
  );
}

export function CloseDialog({ account, onClose, onDone }: Props) {
  const [name, setName] = useState('');
  const form = useAction(async () => {
    await closeAccount(account.id, name);
    toast(`${isolate(account.name)} is closed.`);
    void onDone();
  }, onClose);
  return (
    <FormDialog title={`Close ${isolate(account.name)}?`} action="Close the account" danger onClose={onClose} {...form} fields={['name']}>
      <Notice tone="bad" title="This cannot be undone.">
        Its keys and users are deleted at once, its jobs and videos within minutes. The ledger and the audit log stay.
      </Notice>
      <TextField label="Name of the account" required autoFocus autoComplete="off" value={name} problem={problemOf(form.error, 'name')} hint={<>Type <bdi>{account.name}</bdi> to confirm.</>} onChange={(event) => setName(event.target.value)} />
    </FormDialog>
  );
}

export function RejectDialog({ account, onClose, onDone }: Props) {
  return (
    <ConfirmDialog
      title={`Reject ${isolate(account.name)}?`}
      action="Reject"
      danger
      onClose={onClose}
      onConfirm={async () => {
        await decide(account.id, 'rejected');
        await onDone();
      }}
    >
      <p>Its live keys stop working; test mode stays available. You can approve it later.</p>
    </ConfirmDialog>
  );
}
