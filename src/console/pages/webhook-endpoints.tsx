/** Webhook endpoints of the account: creating, changing, testing and deleting them. A new secret is shown once. */
import { useQueryClient } from '@tanstack/react-query';
import { MoreHorizontal, Pencil, Plus, Power, RefreshCw, Send, Trash2, Webhook } from 'lucide-react';
import { type ComponentProps, type ReactNode, useState } from 'react';
import type { Mode, WebhookEndpoint, WebhookEndpointSecret } from '../../contract/types.gen.ts';
import { problemOf } from '../api/client.ts';
import { useIsAdmin } from '../api/session.ts';
import {
  createWebhookEndpoint,
  deleteWebhookEndpoint,
  rotateWebhookEndpointSecret,
  switchWebhookEndpointSecret,
  testWebhookEndpoint,
  updateWebhookEndpoint,
  useWebhookEndpoints,
} from '../api/webhook-endpoints.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { ConfirmDialog, useAction } from '../ui/dialog.tsx';
import { Badge, Empty, ErrorNotice, LoadList, Notice } from '../ui/feedback.tsx';
import { CheckField, Choices, FieldGroup, TextField } from '../ui/field.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { ModeBadge } from '../ui/job-status.tsx';
import { Menu, MenuItem } from '../ui/menu.tsx';
import { Panel } from '../ui/panel.tsx';
import { ShownOnce, useShowOnce } from '../ui/shown-once.tsx';
import { hidden, Table } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';

type Event = WebhookEndpoint['events'][number];
const events: readonly Event[] = ['job.completed', 'job.failed'];

type Open = { kind: 'create' } | { kind: 'edit' | 'rotate' | 'switch' | 'delete'; endpoint: WebhookEndpoint };

export function EndpointsPanel() {
  const list = useWebhookEndpoints();
  const refresh = useRefresh();
  const isAdmin = useIsAdmin();
  const [open, setOpen] = useState<Open | null>(null);
  const close = () => setOpen(null);
  const showOnce = useShowOnce();
  const show = (made: WebhookEndpointSecret) => {
    showOnce((onClose) => <NewSecret made={made} onClose={onClose} />);
    void refresh();
  };
  const create = isAdmin && (
    <Button size="small" onClick={() => setOpen({ kind: 'create' })}>
      <Plus size={14} aria-hidden="true" />
      Add an endpoint
    </Button>
  );
  return (
    <Panel title="Endpoints" note="URLs that get the events of all jobs, beside the webhook URL of each job. Each has a secret of its own." flush actions={create}>
      <LoadList
        query={list}
        empty={
          <Empty icon={Webhook} title="No endpoints">
            Without endpoints, only jobs with a webhook URL send events.
          </Empty>
        }
      >
        {(endpoints) => <EndpointTable endpoints={endpoints} onOpen={setOpen} />}
      </LoadList>
      {open?.kind === 'create' && <CreateDialog onClose={close} onCreated={show} />}
      {open?.kind === 'edit' && <EditDialog endpoint={open.endpoint} onClose={close} />}
      {open?.kind === 'rotate' && <RotateDialog endpoint={open.endpoint} onClose={close} onRotated={show} />}
      {open?.kind === 'switch' && <SwitchDialog endpoint={open.endpoint} onClose={close} />}
      {open?.kind === 'delete' && <DeleteDialog endpoint={open.endpoint} onClose={close} />}
    </Panel>
  );
}

function useRefresh() {
  const client = useQueryClient();
  return () => client.invalidateQueries({ queryKey: ['webhook-endpoints'] });
}

function EndpointTable({ endpoints, onOpen }: { endpoints: readonly WebhookEndpoint[]; onOpen: (open: Open) => void }) {
  const isAdmin = useIsAdmin();
  return (
    <Table columns={['URL', 'Mode', 'Events', 'State', 'Created', hidden('Actions')]}>
      {endpoints.map((endpoint) => (
        <tr key={endpoint.id}>
          <td data-label="URL">
            <span className="wrap-anywhere">{endpoint.url}</span>
            {endpoint.description !== '' && <div className="small muted wrap-anywhere">{endpoint.description}</div>}
          </td>
          <td data-label="Mode">
            <ModeBadge mode={endpoint.sandbox ? 'test' : 'live'} />
          </td>
          <td data-label="Events" className="small">
            {endpoint.events.length === events.length ? 'all' : endpoint.events.join(', ')}
          </td>
          <td data-label="State">
            <Badge tone={endpoint.enabled ? 'good' : 'plain'}>{endpoint.enabled ? 'Enabled' : 'Disabled'}</Badge>
          </td>
          <td data-label="Created" className="small muted">
            <Ago at={endpoint.created_at} />
          </td>
          <td className="acts">
            {isAdmin && <EndpointMenu endpoint={endpoint} onOpen={onOpen} />}
          </td>
        </tr>
      ))}
    </Table>
  );
}

function EndpointMenu({ endpoint, onOpen }: { endpoint: WebhookEndpoint; onOpen: (open: Open) => void }) {
  const refresh = useRefresh();
  const client = useQueryClient();
  const test = useAction(async () => {
    await testWebhookEndpoint(endpoint.id, endpoint.events[0] ?? 'job.completed');
    toast('Sending a test event. It appears below in a few seconds.');
    await client.invalidateQueries({ queryKey: ['deliveries'] });
  });
  const toggle = useAction(async () => {
    await updateWebhookEndpoint(endpoint.id, { enabled: !endpoint.enabled });
    await refresh();
  });
  const item = (icon: ReactNode, text: string, onSelect: () => void) => (
    <MenuItem onSelect={onSelect}>
      {icon}
      {text}
    </MenuItem>
  );
  return (
    <>
      {test.error !== null && <ErrorNotice error={test.error} />}
      {toggle.error !== null && <ErrorNotice error={toggle.error} />}
      <Menu
        trigger={
          <IconButton label={`Actions for ${endpoint.url}`} tone="quiet" size="small">
            <MoreHorizontal size={16} aria-hidden="true" />
          </IconButton>
        }
      >
        {item(<Send size={15} aria-hidden="true" />, 'Send a test event', test.run)}
        {item(<Pencil size={15} aria-hidden="true" />, 'Change', () => onOpen({ kind: 'edit', endpoint }))}
        {item(<Power size={15} aria-hidden="true" />, endpoint.enabled ? 'Disable' : 'Enable', toggle.run)}
        {item(<RefreshCw size={15} aria-hidden="true" />, 'Rotate the secret', () => onOpen({ kind: 'rotate', endpoint }))}
        {item(<RefreshCw size={15} aria-hidden="true" />, 'Switch X-Service-Signature', () => onOpen({ kind: 'switch', endpoint }))}
        <MenuItem danger onSelect={() => onOpen({ kind: 'delete', endpoint })}>
          <Trash2 size={15} aria-hidden="true" />
          Delete
        </MenuItem>
      </Menu>
    </>
  );
}

interface Values {
  url: string;
  description: string;
  events: Event[];
}

/** The fields that creating and changing have in common. */
function EndpointFields({ values, onChange, problem }: { values: Values; onChange: (values: Values) => void; problem: string | undefined }) {
  const toggle = (event: Event, wanted: boolean) =>
    onChange({ ...values, events: events.filter((each) => (each === event ? wanted : values.events.includes(each))) });
  return (
    <>
      <TextField
        label="Endpoint URL"
        type="url"
        required
        placeholder="https://hooks.example.com/reelmend"
        value={values.url}
        problem={problem}
        onChange={(change) => onChange({ ...values, url: change.target.value })}
      />
      <TextField
        label="Description"
        maxLength={200}
        value={values.description}
        onChange={(change) => onChange({ ...values, description: change.target.value })}
      />
      <FieldGroup label="Events">
        {events.map((event) => (
          <CheckField
            key={event}
            label={event}
            checked={values.events.includes(event)}
            onChange={(change) => toggle(event, change.target.checked)}
          />
        ))}
      </FieldGroup>
    </>
  );
}

function CreateDialog({ onClose, onCreated }: { onClose: () => void; onCreated: (made: WebhookEndpointSecret) => void }) {
  const [mode, setMode] = useState<Mode>('test');
  const [values, setValues] = useState<Values>({ url: '', description: '', events: [...events] });
  const form = useAction(async () => onCreated(await createWebhookEndpoint({ mode, request: { ...values, url: values.url.trim() } })), onClose);
  return (
    <EndpointForm title="Add an endpoint" action="Add" urlField="request/url" {...{ values, onClose, ...form }} onChange={setValues}>
      <Choices<Mode>
        label="Mode"
        value={mode}
        onChange={setMode}
        choices={[
          { value: 'test', title: 'Test', text: 'Events of test jobs.' },
          { value: 'live', title: 'Live', text: 'Events of live jobs.' },
        ]}
      />
    </EndpointForm>
  );
}

function EditDialog({ endpoint, onClose }: { endpoint: WebhookEndpoint; onClose: () => void }) {
  const refresh = useRefresh();
  const [before] = useState<Values>(() => ({ url: endpoint.url, description: endpoint.description, events: [...endpoint.events] }));
  const [values, setValues] = useState(before);
  const form = useAction(async () => {
    await updateWebhookEndpoint(endpoint.id, changesOf(before, { ...values, url: values.url.trim() }));
    await refresh();
  }, onClose);
  return <EndpointForm title="Change the endpoint" action="Save" urlField="url" {...{ values, onClose, ...form }} onChange={setValues} />;
}

/** Only what differs: somebody else may have changed the rest meanwhile. */
function changesOf(before: Values, after: Values): Partial<Values> {
  const differs = (name: string) => JSON.stringify(before[name as keyof Values]) !== JSON.stringify(after[name as keyof Values]);
  return Object.fromEntries(Object.entries(after).filter(([name]) => differs(name)));
}

interface FormProps extends Omit<ComponentProps<typeof FormDialog>, 'fields' | 'disabled' | 'children'> {
  children?: ReactNode;
  values: Values;
  /** name of the field of the URL in the errors of the API */
  urlField: string;
  onChange: (values: Values) => void;
}

function EndpointForm({ values, urlField, onChange, children, ...form }: FormProps) {
  const lacksEvents = values.events.length === 0;
  return (
    <FormDialog {...form} fields={[urlField]} disabled={lacksEvents}>
      {children}
      <EndpointFields values={values} onChange={onChange} problem={problemOf(form.error, urlField)} />
      {lacksEvents && <Notice tone="info">Choose at least one event.</Notice>}
    </FormDialog>
  );
}

interface EndpointDialogProps {
  endpoint: WebhookEndpoint;
  onClose: () => void;
}

function RotateDialog({ endpoint, onClose, onRotated }: EndpointDialogProps & { onRotated: (made: WebhookEndpointSecret) => void }) {
  const form = useAction(async () => onRotated(await rotateWebhookEndpointSecret(endpoint.id)), onClose);
  return (
    <FormDialog title="Rotate the secret of this endpoint?" action="Rotate" onClose={onClose} {...form}>
      <p className="wrap-anywhere">{endpoint.url}</p>
      <p>
        For 24 hours <code>webhook-signature</code> carries the signatures of both secrets, and <code>X-Service-Signature</code> uses the old one
        unless you switch it.
      </p>
    </FormDialog>
  );
}

function SwitchDialog({ endpoint, onClose }: EndpointDialogProps) {
  return (
    <ConfirmDialog
      title="Switch X-Service-Signature to the newest secret?"
      action="Switch now"
      onClose={onClose}
      onConfirm={async () => {
        await switchWebhookEndpointSecret(endpoint.id);
        toast('X-Service-Signature uses the newest secret.');
      }}
    >
      <p>After a rotation, receivers that verify this header need the new secret from now on.</p>
    </ConfirmDialog>
  );
}

function DeleteDialog({ endpoint, onClose }: EndpointDialogProps) {
  const refresh = useRefresh();
  return (
    <ConfirmDialog
      title="Delete this endpoint?"
      action="Delete"
      danger
      onClose={onClose}
      onConfirm={async () => {
        await deleteWebhookEndpoint(endpoint.id);
        toast('The endpoint is deleted.');
        await refresh();
      }}
    >
      <p className="wrap-anywhere">{endpoint.url}</p>
      <p>Its pending deliveries stop, and its secret is deleted.</p>
    </ConfirmDialog>
  );
}

function NewSecret({ made, onClose }: { made: WebhookEndpointSecret; onClose: () => void }) {
  const { switches_at } = made.service_signature;
  const texts = { title: 'The secret of the endpoint', label: 'the signing secret of the endpoint', note: 'It is shown only once.' };
  return (
    <ShownOnce {...texts} secret={made.secret} onClose={onClose}>
      <p className="wrap-anywhere small muted">{made.endpoint.url}</p>
      {switches_at !== null && (
        <p className="small muted">
          <code>X-Service-Signature</code> uses the replaced secret. It switches <Ago at={switches_at} />.
        </p>
      )}
    </ShownOnce>
  );
}
