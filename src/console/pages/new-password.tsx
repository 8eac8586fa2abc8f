/** Sets a new password with a one-time link. The link's token is in the fragment of the URL. */
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { Link } from 'wouter';
import { problemOf } from '../api/client.ts';
import { sessionKey, setPasswordByLink } from '../api/session.ts';
import { Button } from '../ui/button.tsx';
import { useAction } from '../ui/dialog.tsx';
import { ErrorNotice, Notice } from '../ui/feedback.tsx';
import { NewPasswordField, passwordLength } from '../ui/field.tsx';
import { Form } from '../ui/form.tsx';
import { SignedOutFrame } from './sign-in.tsx';

/** The token. It is removed from the address bar and the history at once. */
export function useLinkToken(): string {
  const [token] = useState(() => window.location.hash.slice(1));
  useEffect(() => window.history.replaceState(null, '', window.location.pathname), []);
  return token;
}

export function NewPasswordPage() {
  const token = useLinkToken();
  const [done, setDone] = useState(false);
  useEffect(() => {
    document.title = 'New password · Reelmend';
  }, []);
  return (
    <SignedOutFrame>
      {token === '' && !done && <NoToken />}
      {token !== '' && !done && <NewPassword token={token} onDone={() => setDone(true)} />}
      {done && <Done />}
    </SignedOutFrame>
  );
}

function NoToken() {
  return (
    <div className="stack">
      <h1>New password</h1>
      <p>Open the whole link that the operator of this service gave you.</p>
      <p className="muted">
        <Link href="/sign-in">Sign in</Link>
      </p>
    </div>
  );
}

function Done() {
  return (
    <div className="stack" role="status">
      <h1>Your password is changed</h1>
      <p>All your sessions have ended.</p>
      <p>
        <Link href="/sign-in">Sign in</Link>
      </p>
    </div>
  );
}

function NewPassword({ token, onDone }: { token: string; onDone: () => void }) {
  const client = useQueryClient();
  const [password, setPassword] = useState('');
  const { run, busy, error } = useAction(async () => {
    await setPasswordByLink({ token, new_password: password });
    await client.invalidateQueries({ queryKey: sessionKey });
    onDone();
  });
  const submit = () => {
    if (password.length >= passwordLength) run();
  };
  const weak = problemOf(error, 'new_password');
  return (
    <Form onSubmit={submit}>
      <h1>New password</h1>
      <Notice>Setting it ends all your sessions. The link works once.</Notice>
      <NewPasswordField label="New password" value={password} onChange={setPassword} problem={weak} autoFocus />
      {error !== null && weak === undefined && <ErrorNotice error={error} />}
      <Button type="submit" tone="primary" busy={busy} wide>
        Set the password
      </Button>
    </Form>
  );
}
