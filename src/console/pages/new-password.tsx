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
  const [token, setToken] = useState(tokenOfUrl);
  useEffect(() => {
    const hide = () => window.history.replaceState(null, '', window.location.pathname);
    // The browser loads no page anew for another link to it, such as the whole one after a part of it.
    const take = () => {
      if (tokenOfUrl() === '') return;
      setToken(tokenOfUrl());
      hide();
    };
    hide();
    window.addEventListener('hashchange', take);
    return () => window.removeEventListener('hashchange', take);
  }, []);
  return token;
}

const tokenOfUrl = (): string => window.location.hash.slice(1);

export function NewPasswordPage() {
  const token = useLinkToken();
  /** the token that was used */
  const [used, setUsed] = useState<string | null>(null);
  const done = used !== null && used === token;
  useEffect(() => {
    document.title = 'New password · Reelmend';
  }, []);
  return (
    <SignedOutFrame>
      {token === '' && <NoToken />}
      {token !== '' && !done && <NewPassword key={token} token={token} onDone={() => setUsed(token)} />}
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
