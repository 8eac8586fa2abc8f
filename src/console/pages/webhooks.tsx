/** Webhooks: the signing secret, deliveries, and a test event. */
import { useQueryClient } from '@tanstack/react-query';
import { Eye, EyeOff, RefreshCw, Send, Webhook, X } from 'lucide-react';
import { useState } from 'react';
import type { ConsoleDelivery, ConsoleWebhookSecret } from '../../contract/types.gen.ts';
import {
  type DeliveryState,
  rotateWebhookSecret,
  switchWebhookSecret,
  testWebhook,
  useDeliveries,
  useWebhookSecret,
} from '../api/account.ts';
import { problemOf } from '../api/client.ts';
import { useIsAdmin } from '../api/session.ts';
import { plural, shortId } from '../app/format.ts';
import { oneOf, useUrlFilters } from '../app/url-filters.ts';
import { Button } from '../ui/button.tsx';
import { Secret } from '../ui/code.tsx';
import { ConfirmDialog, useAction } from '../ui/dialog.tsx';
import { Badge, Empty, ErrorNotice, Load, LoadList, Notice } from '../ui/feedback.tsx';
import { CompactSelect, SelectField, TextField } from '../ui/field.tsx';
import { Form } from '../ui/form.tsx';
import { More } from '../ui/more.tsx';
import { Page, Panel } from '../ui/panel.tsx';
import { hidden, Table } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { DeliveryDialog } from './delivery.tsx';
import { deliveryStates } from './delivery-state.ts';
import { EndpointsPanel } from './webhook-endpoints.tsx';

export function WebhooksPage() {
  const isAdmin = useIsAdmin();
  return (
    <Page title="Webhooks" intro="When a job ends, the service sends a signed event to the webhook URL of the job and to your endpoints. It retries failed deliveries for a day.">
      {isAdmin && (
        <div className="halves">
          <SecretPanel />
          <TestPanel />
        </div>
      )}
      <EndpointsPanel />
      <Deliveries />
    </Page>
  );
}

function SecretPanel() {
  const secret = useWebhookSecret();
  const client = useQueryClient();
  const [shown, setShown] = useState(false);
  const [asking, setAsking] = useState<'rotate' | 'switch' | null>(null);
  const close = () => setAsking(null);
  const keep = (data: ConsoleWebhookSecret) => client.setQueryData(['webhook-secret'], data);
  return (
    <Panel
      title="Signing secret"
      note={
        <>
          <code>X-Service-Signature</code> is the HMAC-SHA256 of the raw body, keyed with the secret exactly as it is shown,{' '}
          <code>whsec_</code> included. Standard Webhooks libraries take the same secret.
        </>
      }
      actions={
        <Button size="small" onClick={() => setAsking('rotate')}>
          <RefreshCw size={14} aria-hidden="true" />
          Rotate
        </Button>
      }
    >
      <Load query={secret} lines={1}>
        {(data) => (
          <div className="stack">
            {shown ? <Secret value={data.secret} label="the signing secret" /> : <div className="secret"><code className="faint">whsec_••••••••••••••••••••••••</code></div>}
            <div>
              <Button size="small" onClick={() => setShown(!shown)} aria-pressed={shown}>
                {shown ? <EyeOff size={14} aria-hidden="true" /> : <Eye size={14} aria-hidden="true" />}
                {shown ? 'Hide' : 'Show'}
              </Button>
            </div>
            <Overlap secret={data} onSwitch={() => setAsking('switch')} />
          </div>
        )}
      </Load>
      {asking === 'rotate' && (
        <RotateDialog
          onClose={close}
          onRotated={(data) => {
            keep(data);
            setShown(true);
          }}
        />
      )}
      {asking === 'switch' && <SwitchDialog onClose={close} onSwitched={keep} />}
    </Panel>
  );
}

/** Which secret signs which header during a rotation. */
function Overlap({ secret, onSwitch }: { secret: ConsoleWebhookSecret; onSwitch: () => void }) {
  const { switches_at } = secret.service_signature;
  return (
    <>
      {secret.replaced.map((old) => (
        <Notice key={old.expires_at} tone="info">
          <code>webhook-signature</code> also carries the signature of the replaced secret. That secret expires <Ago at={old.expires_at} />.
        </Notice>
      ))}
      {switches_at !== null && (
        <Notice tone="info">
          <code>X-Service-Signature</code> still uses the replaced secret. It switches <Ago at={switches_at} />.{' '}
          <Button size="small" onClick={onSwitch}>
            Switch now
          </Button>
        </Notice>
      )}
    </>
  );
}

function RotateDialog({ onClose, onRotated }: { onClose: () => void; onRotated: (data: ConsoleWebhookSecret) => void }) {
  return (
    <ConfirmDialog
      title="Rotate the signing secret?"
      action="Rotate"
      onClose={onClose}
      onConfirm={async () => {
        onRotated(await rotateWebhookSecret());
        toast('Secret rotated. The old one keeps signing for 24 hours.');
      }}
    >
      <p>
        For 24 hours <code>webhook-signature</code> carries the signatures of both secrets, so that your receivers can switch.{' '}
        <code>X-Service-Signature</code> uses the old secret until you switch it, or until the 24 hours are over.
      </p>
    </ConfirmDialog>
  );
}

function SwitchDialog({ onClose, onSwitched }: { onClose: () => void; onSwitched: (data: ConsoleWebhookSecret) => void }) {
  return (
    <ConfirmDialog
      title="Switch X-Service-Signature to the new secret?"
      action="Switch now"
      onClose={onClose}
      onConfirm={async () => {
        onSwitched(await switchWebhookSecret());
        toast('X-Service-Signature uses the new secret.');
      }}
    >
      <p>Receivers that verify this header need the new secret from now on.</p>
    </ConfirmDialog>
  );
}

function TestPanel() {
  const client = useQueryClient();
  const [url, setUrl] = useState('');
  const [event, setEvent] = useState<ConsoleDelivery['event']>('job.completed');
  const { run, busy, error } = useAction(async () => {
    await testWebhook({ url: url.trim(), event });
    toast('Sending the test event. It appears below in a few seconds.');
    await client.invalidateQueries({ queryKey: ['deliveries'] });
  });
  const problem = problemOf(error, 'url');
  return (
    <Panel title="Test event" note="Sends a signed test event to your URL. A short test job produces it.">
      <Form onSubmit={run}>
        <TextField
          label="URL"
          type="url"
          required
          placeholder="https://hooks.example.com/reelmend"
          value={url}
          problem={problem}
          onChange={(change) => setUrl(change.target.value)}
        />
        <SelectField label="Event" value={event} onChange={(change) => setEvent(change.target.value as ConsoleDelivery['event'])}>
          <option value="job.completed">job.completed</option>
          <option value="job.failed">job.failed</option>
        </SelectField>
        {error !== null && problem === undefined && <ErrorNotice error={error} />}
        <div>
          <Button type="submit" busy={busy}>
            <Send size={14} aria-hidden="true" />
            Send the test event
          </Button>
        </div>
      </Form>
    </Panel>
  );
}

/** The filters that the URL names: the page of a job leads here, too. */
function readFilters(params: URLSearchParams): { job: string | undefined; state: DeliveryState | undefined } {
  return { job: params.get('job') ?? undefined, state: oneOf(params, 'state', Object.keys(deliveryStates) as DeliveryState[]) };
}

function Deliveries() {
  const [{ job, state }, setFilter] = useUrlFilters(readFilters);
  const [open, setOpen] = useState<string | null>(null);
  const list = useDeliveries({ ...(state !== undefined && { state }), ...(job !== undefined && { job_id: job }) });
  const filter = (
    <span className="row">
      {job !== undefined && (
        <Button size="small" onClick={() => setFilter({ job: undefined })}>
          Job {shortId(job)}
          <X size={13} aria-label="Remove this filter" role="img" />
        </Button>
      )}
      <CompactSelect label="State" value={state ?? ''} onChange={(event) => setFilter({ state: event.target.value as DeliveryState })}>
        <option value="">Any state</option>
        {Object.entries(deliveryStates).map(([value, { text }]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </CompactSelect>
    </span>
  );
  return (
    <Panel title="Deliveries" flush actions={filter}>
      <LoadList
        query={list}
        empty={
          <Empty icon={Webhook} title={state === undefined && job === undefined ? 'No deliveries yet' : 'No delivery matches'}>
            Set a webhook URL in a job, add an endpoint, or send a test event.
          </Empty>
        }
      >
        {(deliveries) => <DeliveryTable deliveries={deliveries} onOpen={setOpen} />}
      </LoadList>
      <More list={list} />
      {open !== null && <DeliveryDialog id={open} onClose={() => setOpen(null)} />}
    </Panel>
  );
}

function DeliveryTable({ deliveries, onOpen }: { deliveries: readonly ConsoleDelivery[]; onOpen: (id: string) => void }) {
  return (
    <Table columns={['Event', 'URL', 'State', 'Response', 'Created', hidden('Details')]}>
      {deliveries.map((delivery) => (
        <tr key={delivery.id}>
          <td data-label="Event">
            <code>{delivery.event}</code>
          </td>
          <td data-label="URL">
            <span className="wrap-anywhere">{delivery.url ?? <span className="muted">deleted</span>}</span>
          </td>
          <td data-label="State">
            <span className="row">
              <Badge tone={deliveryStates[delivery.state].tone}>{deliveryStates[delivery.state].text}</Badge>
              {delivery.failed_attempts > 0 && <span className="small muted">{plural(delivery.failed_attempts, 'failed attempt', 'failed attempts')}</span>}
            </span>
          </td>
          <td data-label="Response" className="num">
            {delivery.last_attempt?.status ?? delivery.last_attempt?.failure ?? '–'}
          </td>
          <td data-label="Created" className="small muted">
            <Ago at={delivery.created_at} />
          </td>
          <td className="acts">
            <Button size="small" onClick={() => onOpen(delivery.id)} aria-label={`Details of ${delivery.event} ${delivery.id}`}>
              Details
            </Button>
          </td>
        </tr>
      ))}
    </Table>
  );
}
