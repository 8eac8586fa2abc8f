/** Accepts an invitation to an account. The link's token is in the fragment of the URL. */
import { useEffect, useRef, useState } from 'react';
import { useQuery } from '@tanstack/react-query';
import { Link, useLocation } from 'wouter';
import type { ConsoleInvitationDetail } from '../../contract/types.gen.ts';
import { ApiError, problemOf } from '../api/client.ts';
import { acceptInvitation, readInvitation } from '../api/people.ts';
import { useSignIn } from '../api/session.ts';
import { Button } from '../ui/button.tsx';
import { useAction } from '../ui/dialog.tsx';
import { ErrorNotice, Load, Notice, Retry } from '../ui/feedback.tsx';
import { NewPasswordField, passwordLength, TextField } from '../ui/field.tsx';
import { Form } from '../ui/form.tsx';
import { DateTime } from '../ui/time.tsx';
import { SignedOutFrame } from './sign-in.tsx';
import { useLinkToken } from './new-password.tsx';
import { roleNames } from './people.tsx';

export function InvitationPage() {
  const token = useLinkToken();
  useEffect(() => {
    document.title = 'Invitation · Reelmend';
  }, []);
  return (
    <SignedOutFrame>
      <div className="stack">
        <h1>Invitation</h1>
        {token === '' ? <p>Open the whole link that you were given.</p> : <Invitation key={token} token={token} />}
      </div>
    </SignedOutFrame>
  );
}

function Invitation({ token }: { token: string }) {
  const query = useQuery({ queryKey: ['invitation', token], queryFn: () => readInvitation(token), gcTime: 0, staleTime: Infinity });
  if (query.error instanceof ApiError && query.error.code === 'one_time_link_invalid') return <InvalidLink error={query.error} />;
  // Its token is no longer in the address bar, so the page must not have to be loaded again.
  if (query.error !== null) return <Retry error={query.error} onRetry={() => void query.refetch()} />;
  return <Load query={query}>{(invitation) => <Join token={token} invitation={invitation} />}</Load>;
}

function InvalidLink({ error }: { error: ApiError }) {
  return (
    <>
      <ErrorNotice error={error} />
      <p className="muted">
        Have you joined already? <Link href="/sign-in">Sign in</Link>
      </p>
    </>
  );
}

/** The error if the email already has a user with another password or a second factor. */
const notTheNewUser: ReadonlySet<string> = new Set(['invalid_credentials', 'second_factor_required']);

function Join({ token, invitation }: { token: string; invitation: ConsoleInvitationDetail }) {
  const { account_name, email, role, expires_at } = invitation;
  const signIn = useSignIn();
  const [, navigate] = useLocation();
  const [password, setPassword] = useState('');
  const [known, setKnown] = useState(false);
  const hasTried = useRef(false);
  /** Returns the refusal of a link that an earlier attempt may have used: its answer, or that of the sign-in after it, may be lost. */
  const accept = async (): Promise<ApiError | null> => {
    const mayBeUsed = hasTried.current;
    hasTried.current = true;
    try {
      await acceptInvitation({ token, password });
      return null;
    } catch (cause) {
      if (mayBeUsed && cause instanceof ApiError && cause.code === 'one_time_link_invalid') return cause;
      throw cause;
    }
  };
  const { run, busy, error } = useAction(async () => {
    setKnown(false);
    const refusal = await accept();
    try {
      await signIn({ email, password });
    } catch (cause) {
      if (refusal !== null && cause instanceof ApiError && cause.code === 'invalid_credentials') throw refusal;
      // The acceptance never reveals whether an email is known; see the sign-up.
      if (cause instanceof ApiError && notTheNewUser.has(cause.code)) return setKnown(true);
      throw cause;
    }
    navigate('/', { replace: true });
  });
  const submit = () => {
    if (password.length >= passwordLength) run();
  };
  const weak = problemOf(error, 'password');
  return (
    <Form onSubmit={submit}>
      <p>
        You are invited to <strong className="wrap-anywhere">{account_name}</strong> as {roleNames[role].toLowerCase()}, until <DateTime at={expires_at} />.
      </p>
      <TextField label="Email" type="email" autoComplete="username" readOnly value={email} />
      <NewPasswordField label="Password" value={password} onChange={setPassword} problem={weak} autoFocus />
      {known && (
        <Notice tone="warn" role="alert" title="You could not be signed in with this email and password.">
          <span>
            If you already have an account, <Link href="/sign-in">sign in</Link> with its password. A user cannot join a second account: ask for an invitation to another email.
          </span>
        </Notice>
      )}
      {error !== null && weak === undefined && <ErrorNotice error={error} />}
      <Button type="submit" tone="primary" busy={busy} wide>
        Join
      </Button>
    </Form>
  );
}
