/** One delivery: its request, every attempt with its response, and a button to resend it. */
import { useQueryClient } from '@tanstack/react-query';
import { RotateCw } from 'lucide-react';
import { Link } from 'wouter';
import type { ConsoleDeliveryAttempt, ConsoleDeliveryDetail } from '../../contract/types.gen.ts';
import { resendDelivery, useDelivery } from '../api/account.ts';
import { useIsAdmin } from '../api/session.ts';
import { formatDateTimeFull } from '../app/format.ts';
import { Button } from '../ui/button.tsx';
import { CodeBlock } from '../ui/code.tsx';
import { Dialog, useAction } from '../ui/dialog.tsx';
import { Badge, ErrorNotice, Load } from '../ui/feedback.tsx';
import { Facts } from '../ui/panel.tsx';
import { Ago } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { deliveryStates } from './delivery-state.ts';

export function DeliveryDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const query = useDelivery(id);
  return (
    <Dialog title="Delivery" onClose={onClose} wide>
      <Load query={query}>{(detail) => <Detail detail={detail} onClose={onClose} />}</Load>
    </Dialog>
  );
}

function Detail({ detail, onClose }: { detail: ConsoleDeliveryDetail; onClose: () => void }) {
  const isAdmin = useIsAdmin();
  const { delivery, request, attempts } = detail;
  const client = useQueryClient();
  const { run, busy, error } = useAction(async () => {
    await resendDelivery(delivery.id);
    toast('The webhook is queued again.');
    await client.invalidateQueries({ queryKey: ['deliveries'] });
  });
  const { tone, text } = deliveryStates[delivery.state];
  return (
    <>
      <Facts
        facts={[
          ['State', <Badge key="state" tone={tone}>{text}</Badge>],
          [
            'Job',
            delivery.job_id === null ? (
              'none: a test event'
            ) : (
              <Link key="job" href={`/jobs/${delivery.job_id}`} onClick={onClose}>
                <code>{delivery.job_id}</code>
              </Link>
            ),
          ],
          ...(delivery.endpoint_id === null ? [] : ([['Endpoint', <code key="endpoint">{delivery.endpoint_id}</code>]] as const)),
          ['Id', <code key="id">{delivery.id}</code>],
          ...(delivery.next_at === null ? [] : ([['Next attempt', <Ago key="next" at={delivery.next_at} />]] as const)),
        ]}
      />
      <div className="stack-s">
        <h3>Request</h3>
        <CodeBlock text={requestText(detail)} wrap label="request" />
        <p className="small muted">The timestamp and the signatures differ between attempts and are not stored.</p>
      </div>
      <div className="stack-s">
        <h3>Attempts</h3>
        {attempts.length === 0 ? <p className="muted">None yet.</p> : attempts.toReversed().map((attempt) => <Attempt key={attempt.number} attempt={attempt} />)}
      </div>
      {error !== null && <ErrorNotice error={error} />}
      <div className="dialog-foot">
        {isAdmin && (
          <Button busy={busy} disabled={request.url === null} onClick={run}>
            <RotateCw size={14} aria-hidden="true" />
            Send again
          </Button>
        )}
        <Button tone="primary" onClick={onClose}>
          Close
        </Button>
      </div>
    </>
  );
}

function requestText({ request }: ConsoleDeliveryDetail): string {
  const headers = Object.entries(request.headers).map(([name, value]) => `${name}: ${value}`);
  return [`${request.method} ${request.url ?? '(deleted)'}`, ...headers, '', request.body].join('\n');
}

function Attempt({ attempt }: { attempt: ConsoleDeliveryAttempt }) {
  const good = attempt.failure === null;
  return (
    <div className="stack-s">
      <div className="row">
        <Badge tone={good ? 'good' : 'bad'}>{attempt.status ?? 'no response'}</Badge>
        <span className="small muted">
          Attempt {attempt.number} · {formatDateTimeFull(attempt.at)} · {attempt.duration_ms} ms
        </span>
      </div>
      {attempt.failure !== null && <p className="small">{attempt.failure}</p>}
      {attempt.response_body !== null && attempt.response_body !== '' && <CodeBlock text={attempt.response_body} wrap label={`response to attempt ${attempt.number}`} />}
    </div>
  );
}
