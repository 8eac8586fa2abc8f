/** Two-factor authentication: enabling it with an authenticator app, recovery codes, disabling it. */
import { useQueryClient } from '@tanstack/react-query';
import { QRCodeSVG } from 'qrcode.react';
import { type ReactNode, useState } from 'react';
import type { ConsoleFullProof, ConsoleTwoFactorEnrolment } from '../../contract/types.gen.ts';
import { problemOf } from '../api/client.ts';
import { beginTwoFactor, confirmTwoFactor, disableTwoFactor, replaceRecoveryCodes, twoFactorKey, useTwoFactor } from '../api/two-factor.ts';
import { plural } from '../app/format.ts';
import { Button } from '../ui/button.tsx';
import { Secret } from '../ui/code.tsx';
import { Dialog, useAction } from '../ui/dialog.tsx';
import { Badge, Load, Notice } from '../ui/feedback.tsx';
import { CodeField, PasswordField } from '../ui/field.tsx';
import { DialogForm, FormDialog } from '../ui/form-dialog.tsx';
import { Panel } from '../ui/panel.tsx';
import { ShownOnce, useShowOnce } from '../ui/shown-once.tsx';
import { DateTime } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';

type Open = 'enable' | 'codes' | 'disable';

/** with this many recovery codes or fewer, the page asks for new ones */
const fewCodes = 3;

export function TwoFactor() {
  const client = useQueryClient();
  const state = useTwoFactor();
  const [open, setOpen] = useState<Open | null>(null);
  const showOnce = useShowOnce();
  const close = () => setOpen(null);
  const refresh = () => Promise.all([twoFactorKey, ['sessions']].map((queryKey) => client.invalidateQueries({ queryKey })));
  const show = (codes: readonly string[]) => {
    showOnce((onClose) => <RecoveryCodes codes={codes} onClose={onClose} />);
    void refresh();
  };
  const disabled = () => {
    toast('Two-factor authentication is disabled.');
    void refresh();
  };
  return (
    <Panel title="Two-factor authentication" note="Sign-in then asks for a code of an authenticator app too. A stolen password is not enough.">
      <Load query={state}>
        {({ enabled, enabled_at, recovery_codes_left: left }) =>
          enabled ? (
            <div className="stack">
              <p className="row">
                <Badge tone="good">Enabled</Badge>
                {enabled_at !== null && (
                  <span className="small muted">
                    since <DateTime at={enabled_at} />
                  </span>
                )}
              </p>
              {left <= fewCodes ? <Notice tone="warn">{plural(left, 'recovery code')} left. Create new ones.</Notice> : <p>{plural(left, 'recovery code')} left.</p>}
              <div className="row">
                <Button onClick={() => setOpen('codes')}>New recovery codes</Button>
                <Button tone="danger" onClick={() => setOpen('disable')}>
                  Disable
                </Button>
              </div>
            </div>
          ) : (
            <Button tone="primary" onClick={() => setOpen('enable')}>
              Enable
            </Button>
          )
        }
      </Load>
      {open === 'enable' && <EnableDialog onClose={close} onEnabled={show} />}
      {open === 'codes' && (
        <ProofDialog title="New recovery codes" action="Create" onClose={close} onProof={async (proof) => show((await replaceRecoveryCodes(proof)).recovery_codes)}>
          The earlier recovery codes stop working.
        </ProofDialog>
      )}
      {open === 'disable' && (
        <ProofDialog title="Disable two-factor authentication?" action="Disable" danger onClose={close} onProof={async (proof) => void (await disableTwoFactor(proof), disabled())}>
          Then your password alone signs you in.
        </ProofDialog>
      )}
    </Panel>
  );
}

interface EnableProps {
  onClose: () => void;
  onEnabled: (codes: readonly string[]) => void;
}

function EnableDialog({ onClose, onEnabled }: EnableProps) {
  const [enrolment, setEnrolment] = useState<ConsoleTwoFactorEnrolment | null>(null);
  return (
    <Dialog title="Enable two-factor authentication" onClose={onClose}>
      {enrolment === null ? <PasswordStep onDone={setEnrolment} onClose={onClose} /> : <CodeStep enrolment={enrolment} onDone={onEnabled} onClose={onClose} />}
    </Dialog>
  );
}

function PasswordStep({ onDone, onClose }: { onDone: (enrolment: ConsoleTwoFactorEnrolment) => void; onClose: () => void }) {
  const [password, setPassword] = useState('');
  const { run, busy, error } = useAction(async () => onDone(await beginTwoFactor(password)));
  return (
    <DialogForm action="Continue" {...{ run, busy, error, onClose }} fields={['password']}>
      <p className="muted">You need an app such as Aegis, FreeOTP, Google Authenticator or 1Password.</p>
      <PasswordField value={password} onChange={setPassword} problem={problemOf(error, 'password')} autoFocus />
    </DialogForm>
  );
}

function CodeStep({ enrolment, onDone, onClose }: { enrolment: ConsoleTwoFactorEnrolment; onDone: EnableProps['onEnabled']; onClose: () => void }) {
  const [code, setCode] = useState('');
  const { run, busy, error } = useAction(async () => onDone((await confirmTwoFactor(code)).recovery_codes), onClose);
  return (
    <DialogForm action="Enable" {...{ run, busy, error, onClose }} fields={['code']}>
      <p className="muted">Scan this with the app, or type the key. It is shown only once.</p>
      <div className="qr">
        <QRCodeSVG value={enrolment.uri} size={192} marginSize={4} level="M" role="img" title="QR code for the authenticator app" />
      </div>
      <Secret value={enrolment.secret} label="the key" />
      <p className="muted">Then enter the code that the app shows. Your other sessions end.</p>
      <CodeField value={code} onChange={setCode} problem={problemOf(error, 'code')} autoFocus />
    </DialogForm>
  );
}

interface ProofProps {
  title: string;
  action: string;
  danger?: boolean;
  onClose: () => void;
  onProof: (proof: ConsoleFullProof) => Promise<void>;
  children: ReactNode;
}

/** Asks for the password and a code. */
function ProofDialog({ title, action, danger = false, onClose, onProof, children }: ProofProps) {
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const { run, busy, error } = useAction(() => onProof({ password, code }), onClose);
  return (
    <FormDialog {...{ title, action, danger, run, busy, error, onClose }} fields={['password', 'code']}>
      <p className="muted">{children}</p>
      <PasswordField value={password} onChange={setPassword} problem={problemOf(error, 'password')} autoFocus />
      <CodeField value={code} onChange={setCode} problem={problemOf(error, 'code')} />
    </FormDialog>
  );
}

function RecoveryCodes({ codes, onClose }: { codes: readonly string[]; onClose: () => void }) {
  const note = 'They are shown only once. Each signs you in once, without the app. Store them apart from the phone with the app.';
  return <ShownOnce title="Your recovery codes" label="the recovery codes" secret={codes.join('\n')} note={note} onClose={onClose} />;
}
