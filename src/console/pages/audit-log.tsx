/** The audit log. The browser can verify it. */
import { Download, ScrollText, ShieldCheck } from 'lucide-react';
import { useState } from 'react';
import type { AuditEntry } from '../../contract/types.gen.ts';
import { exportAuditLog, fetchPublishedKeys, useAuditLog } from '../api/account.ts';
import { sentenceOf } from '../api/client.ts';
import { saveText } from '../app/download.ts';
import { formatCount, plural } from '../app/format.ts';
import { type Entry, type LogVerification, VerificationError, verifyAuditLog } from '../evidence/verify.ts';
import { Button } from '../ui/button.tsx';
import { CodeBlock } from '../ui/code.tsx';
import { Empty, LoadList, Notice } from '../ui/feedback.tsx';
import { More } from '../ui/more.tsx';
import { Panel } from '../ui/panel.tsx';
import { DateTime } from '../ui/time.tsx';
import { toastFailure } from '../ui/toasts.tsx';

type Proof = { step: 'none' } | { step: 'working'; checked: number } | { step: 'done'; result: LogVerification } | { step: 'failed'; error: unknown };

export function AuditLog() {
  const list = useAuditLog();
  const [proof, setProof] = useState<Proof>({ step: 'none' });
  const verify = async () => {
    setProof({ step: 'working', checked: 0 });
    try {
      const [log, { keys }] = await Promise.all([exportAuditLog(), fetchPublishedKeys()]);
      const note = (checked: number) => setProof({ step: 'working', checked });
      setProof({ step: 'done', result: await verifyAuditLog(log.entries as Entry[], log.head, keys, note) });
    } catch (error) {
      setProof({ step: 'failed', error });
    }
  };
  const save = () => toastFailure(async () => saveText('audit-log.json', `${JSON.stringify(await exportAuditLog(), null, 2)}\n`));
  return (
    <div className="stack">
      <ProofNotice proof={proof} />
      <Panel
        title="Entries"
        flush
        note="Each entry contains the hash of the previous one. The service signs the hash of the newest entry and the size of the log."
        actions={
          <span className="row">
            <Button size="small" onClick={() => void save()}>
              <Download size={14} aria-hidden="true" />
              Export
            </Button>
            <Button size="small" tone="primary" busy={proof.step === 'working'} onClick={() => void verify()}>
              <ShieldCheck size={14} aria-hidden="true" />
              Verify here
            </Button>
          </span>
        }
      >
        <LoadList
          query={list}
          empty={
            <Empty icon={ScrollText} title="The log is empty">
              The first job, key or setting creates an entry.
            </Empty>
          }
        >
          {(entries) => entries.map((entry) => <EntryLine key={entry.sequence} entry={entry} />)}
        </LoadList>
        <More list={list} />
      </Panel>
    </div>
  );
}

function ProofNotice({ proof }: { proof: Proof }) {
  if (proof.step === 'none') return null;
  if (proof.step === 'working') return <Notice role="status">Checking… {formatCount(proof.checked)} entries so far.</Notice>;
  if (proof.step === 'failed') {
    return (
      <Notice tone="bad" role="alert" title={proof.error instanceof VerificationError ? 'The signed head is invalid.' : 'The log could not be verified.'}>
        {sentenceOf(proof.error)}
      </Notice>
    );
  }
  const { result } = proof;
  if (!result.ok) {
    return (
      <Notice tone="bad" role="alert" title={'atHead' in result ? 'The log does not match its signed head.' : `Entry ${result.index + 1} is invalid.`}>
        {result.reason}
      </Notice>
    );
  }
  return (
    <Notice tone="good" role="status" title="The log is complete and unchanged.">
      <span>This browser checked {plural(result.size, 'entry', 'entries')}. All hashes match, and the signature of the head is valid.</span>
      <code className="small wrap-anywhere">{result.hash}</code>
    </Notice>
  );
}

function EntryLine({ entry }: { entry: AuditEntry }) {
  return (
    <details className="entry">
      <summary>
        <span className="num faint">{entry.sequence}</span>
        <span className="row">
          <code>{entry.kind}</code>
          {entry.job_id !== null && <code className="faint truncate">{entry.job_id}</code>}
        </span>
        <span className="small muted">
          <DateTime at={entry.at} />
        </span>
      </summary>
      <div className="entry-body">
        <CodeBlock text={JSON.stringify(entry, null, 2)} wrap label={`entry ${entry.sequence}`} />
      </div>
    </details>
  );
}
