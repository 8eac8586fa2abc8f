/** The Secure tier: the audit log, deletion certificates and the retention setting. */
import { useQueryClient } from '@tanstack/react-query';
import { ShieldCheck } from 'lucide-react';
import { Tabs } from 'radix-ui';
import { useState } from 'react';
import { useSearchParams } from 'wouter';
import type { ConsoleCertificate } from '../../contract/types.gen.ts';
import { setRetention, useCertificates } from '../api/account.ts';
import { problemOf } from '../api/client.ts';
import { sessionKey, useIsAdmin, useSession } from '../api/session.ts';
import { plural } from '../app/format.ts';
import { Button } from '../ui/button.tsx';
import { Dialog, useAction } from '../ui/dialog.tsx';
import { Empty, ErrorNotice, LoadList } from '../ui/feedback.tsx';
import { TextField } from '../ui/field.tsx';
import { Form } from '../ui/form.tsx';
import { More } from '../ui/more.tsx';
import { Page, Panel } from '../ui/panel.tsx';
import { hidden, Table } from '../ui/table.tsx';
import { DateTime } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { AuditLog } from './audit-log.tsx';
import { CertificateProof } from './certificate-proof.tsx';

const tabs = ['audit', 'certificates', 'retention'] as const;

export function SecurePage() {
  const [params, setParams] = useSearchParams();
  const tab = tabs.find((one) => one === params.get('tab')) ?? 'audit';
  return (
    <Page title="Secure" intro="A tamper-evident audit log, and signed certificates for deleted files. You can verify both here.">
      <Tabs.Root value={tab} onValueChange={(value) => setParams({ tab: value }, { replace: true })}>
        <Tabs.List className="tabs-list" aria-label="Secure tier">
          <Tabs.Trigger className="tab" value="audit">Audit log</Tabs.Trigger>
          <Tabs.Trigger className="tab" value="certificates">Certificates</Tabs.Trigger>
          <Tabs.Trigger className="tab" value="retention">Retention</Tabs.Trigger>
        </Tabs.List>
        <Tabs.Content className="tab-panel" value="audit"><AuditLog /></Tabs.Content>
        <Tabs.Content className="tab-panel" value="certificates"><Certificates /></Tabs.Content>
        <Tabs.Content className="tab-panel" value="retention"><Retention /></Tabs.Content>
      </Tabs.Root>
    </Page>
  );
}

function Certificates() {
  const list = useCertificates();
  const [open, setOpen] = useState<ConsoleCertificate | null>(null);
  return (
    <Panel title="Deletion certificates" flush note="One for each deleted Secure job, issued once the storage has confirmed that every file is gone.">
      <LoadList
        query={list}
        empty={
          <Empty icon={ShieldCheck} title="No certificates yet">
            A certificate appears when a Secure job is deleted, or when its retention ends.
          </Empty>
        }
      >
        {(certificates) => <CertificateTable certificates={certificates} onOpen={setOpen} />}
      </LoadList>
      <More list={list} />
      {open !== null && (
        <Dialog title={open.id} onClose={() => setOpen(null)} wide>
          <CertificateProof jws={open.certificate} />
        </Dialog>
      )}
    </Panel>
  );
}

function CertificateTable({ certificates, onOpen }: { certificates: readonly ConsoleCertificate[]; onOpen: (one: ConsoleCertificate) => void }) {
  return (
    <Table columns={['Job', 'Issued', hidden('Actions')]}>
      {certificates.map((certificate) => (
        <tr key={certificate.id}>
          <td data-label="Job">
            <code>{certificate.job_id}</code>
          </td>
          <td data-label="Issued" className="muted">
            <DateTime at={certificate.issued_at} />
          </td>
          <td className="acts">
            <Button size="small" onClick={() => onOpen(certificate)} aria-label={`Verify the certificate of ${certificate.job_id}`}>
              <ShieldCheck size={14} aria-hidden="true" />
              Verify
            </Button>
          </td>
        </tr>
      ))}
    </Table>
  );
}

function Retention() {
  const { account, standard_retention_days: standardDays } = useSession();
  const isAdmin = useIsAdmin();
  const client = useQueryClient();
  const [days, setDays] = useState(String(account.retention_days));
  const { run, busy, error } = useAction(async () => {
    await setRetention(Number(days));
    toast(`Files of new Secure jobs are kept for ${plural(Number(days), 'day')}.`);
    await client.invalidateQueries({ queryKey: sessionKey });
    void client.invalidateQueries({ queryKey: ['audit'] });
  });
  const problem = problemOf(error, 'retention_days');
  return (
    <Panel title="Retention" note={`How long the files of new Secure jobs are kept. Files of Standard jobs are kept for ${plural(standardDays, 'day')}.`}>
      <Form onSubmit={run}>
        <TextField
          label="Days"
          type="number"
          inputMode="numeric"
          min={1}
          max={365}
          required
          className="compact"
          disabled={!isAdmin}
          value={days}
          problem={problem}
          hint={isAdmin ? '1 to 365. The audit log records the change.' : '1 to 365. An admin of the account can change it.'}
          onChange={(event) => setDays(event.target.value)}
        />
        {error !== null && problem === undefined && <ErrorNotice error={error} />}
        <div>
          <Button type="submit" tone="primary" busy={busy} disabled={!isAdmin || days === String(account.retention_days)}>
            Save
          </Button>
        </div>
      </Form>
    </Panel>
  );
}
