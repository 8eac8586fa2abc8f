/** The pages for signing up and signing in. */
import { type ReactNode, useEffect, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { ApiError, problemOf } from '../api/client.ts';
import { signUp, useSignIn } from '../api/session.ts';
import { Logo } from '../app/logo.tsx';
import { ThemeChoice } from '../app/shell.tsx';
import { Button } from '../ui/button.tsx';
import { useAction } from '../ui/dialog.tsx';
import { ErrorNotice, Notice } from '../ui/feedback.tsx';
import { CodeField, NewPasswordField, PasswordField, passwordLength, TextField } from '../ui/field.tsx';
import { Form } from '../ui/form.tsx';

/** The service marks the document when sign-up is closed (src/http/console/page.ts). */
const takesSignUps = document.documentElement.dataset['signUp'] !== 'closed';

/** `hasEnded`: the session has, and what the user was doing waits */
export function SignInPage({ hasEnded }: { hasEnded: boolean }) {
  const [location] = useLocation();
  const signingUp = location === '/sign-up';
  useEffect(() => {
    document.title = signingUp ? 'Sign up · Reelmend' : 'Sign in · Reelmend';
  }, [signingUp]);
  return (
    <SignedOutFrame>
      {hasEnded && !signingUp && (
        <Notice role="status" title="Your session has ended.">
          <span>Sign in again to go on where you were. What you have entered is kept.</span>
        </Notice>
      )}
      <EntryForm signingUp={signingUp} />
    </SignedOutFrame>
  );
}

/** The frame of every page for people who are not signed in. */
export function SignedOutFrame({ children }: { children: ReactNode }) {
  return (
    <div className="signed-out">
      <main className="signed-out-form">
        <div className="brand">
          <Logo size={28} />
          Reelmend
        </div>
        {children}
      </main>
      <Welcome />
    </div>
  );
}

function EntryForm({ signingUp }: { signingUp: boolean }) {
  if (!signingUp) return <SignIn />;
  return takesSignUps ? <SignUp /> : <NoSignUp />;
}

function Welcome() {
  return (
    <aside className="signed-out-side" aria-label="How it works">
      <h2>Better video with one API call</h2>
      <ol>
        <li>
          <div>
            <strong>Start in test mode</strong>
            Create a test key and run simulated jobs. They are free and need no approval.
          </div>
        </li>
        <li>
          <div>
            <strong>Submit the URL of a video</strong>
            See the price before you submit. A failed job is refunded automatically.
          </div>
        </li>
        <li>
          <div>
            <strong>Compare, download, delete</strong>
            Compare before and after side by side. In the Secure tier, a signed certificate proves the deletion.
          </div>
        </li>
      </ol>
      <div>
        <ThemeChoice />
      </div>
    </aside>
  );
}

function SignIn() {
  const signIn = useSignIn();
  const [, navigate] = useLocation();
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const [needsCode, setNeedsCode] = useState(false);
  const { run, busy, error, forgetError } = useAction(async () => {
    try {
      await signIn({ email: email.trim(), password, ...(needsCode ? { code } : {}) });
    } catch (cause) {
      if (!(cause instanceof ApiError && cause.code === 'second_factor_required')) throw cause;
      return setNeedsCode(true);
    }
    if (window.location.pathname.endsWith('/sign-in')) navigate('/', { replace: true });
  });
  const form = { onSubmit: run, busy, error };
  const back = () => {
    setNeedsCode(false);
    setCode('');
    // It is about the code.
    forgetError();
  };
  return needsCode ? (
    <CodeForm {...form} code={code} onCode={setCode} onBack={back} />
  ) : (
    <PasswordForm {...form} {...{ email, password }} onEmail={setEmail} onPassword={setPassword} />
  );
}

interface SignInFormProps {
  onSubmit: () => void;
  busy: boolean;
  error: unknown;
}

interface CodeFormProps extends SignInFormProps {
  code: string;
  onCode: (code: string) => void;
  onBack: () => void;
}

function CodeForm({ code, onCode, onBack, onSubmit, busy, error }: CodeFormProps) {
  return (
    <Form onSubmit={onSubmit}>
      <h1>Enter your code</h1>
      <p className="muted">The six digits that your authenticator app shows for Reelmend, or one of your recovery codes.</p>
      <CodeField value={code} onChange={onCode} autoFocus />
      {error !== null && <ErrorNotice error={error} />}
      <Button type="submit" tone="primary" busy={busy} wide>
        Sign in
      </Button>
      <p className="muted">Lost both? Ask the operator of this service.</p>
      <Button tone="quiet" onClick={onBack}>
        Back
      </Button>
    </Form>
  );
}

interface PasswordFormProps extends SignInFormProps {
  email: string;
  password: string;
  onEmail: (email: string) => void;
  onPassword: (password: string) => void;
}

function PasswordForm({ email, password, onEmail, onPassword, onSubmit, busy, error }: PasswordFormProps) {
  return (
    <Form onSubmit={onSubmit}>
      <h1>Sign in</h1>
      <TextField label="Email" type="email" autoComplete="username" required autoFocus value={email} onChange={(event) => onEmail(event.target.value)} />
      <PasswordField value={password} onChange={onPassword} />
      {error !== null && <ErrorNotice error={error} />}
      <Button type="submit" tone="primary" busy={busy} wide>
        Sign in
      </Button>
      {takesSignUps && (
        <p className="muted">
          New here? <Link href="/sign-up">Create an account</Link>
        </p>
      )}
      <p className="muted">Forgot your password? Ask the operator of this service for a link to set a new one.</p>
    </Form>
  );
}

/** Has the text of the error `sign_up_closed`. */
function NoSignUp() {
  return (
    <div className="stack">
      <h1>Sign-up is closed</h1>
      <p>Ask the operator of this service for an account.</p>
      <p className="muted">
        Already have an account? <Link href="/sign-in">Sign in</Link>
      </p>
    </div>
  );
}

interface NewAccount {
  email: string;
  /** may be empty */
  name: string;
  password: string;
}

/** Signs up, then in. `isKnown`: the email seems to have signed up before, with another password. */
function useSignUp({ email, name, password }: NewAccount) {
  const signIn = useSignIn();
  const [, navigate] = useLocation();
  const [isKnown, setKnown] = useState(false);
  const action = useAction(async () => {
    const trimmed = email.trim();
    setKnown(false);
    await signUp({ email: trimmed, password, ...(name.trim() === '' ? {} : { name: name.trim() }) });
    try {
      await signIn({ email: trimmed, password });
    } catch (cause) {
      // Sign-up never reveals whether an email is known. A failed sign-in does, to the owner of the email only.
      if (cause instanceof ApiError && cause.code === 'invalid_credentials') return setKnown(true);
      throw cause;
    }
    navigate('/', { replace: true });
  });
  return { ...action, isKnown };
}

/** They show their own problems. */
const signUpFields = ['email', 'name', 'password'] as const;

function SignUp() {
  const [email, setEmail] = useState('');
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const { run, busy, error, isKnown } = useSignUp({ email, name, password });
  const submit = () => {
    if (password.length >= passwordLength) run();
  };
  return (
    <Form onSubmit={submit}>
      <div>
        <h1>Create an account</h1>
        <p className="muted">You can use test mode immediately. Live mode works once an operator has approved the account.</p>
      </div>
      <TextField
        label="Email"
        type="email"
        autoComplete="username"
        required
        autoFocus
        value={email}
        problem={problemOf(error, 'email')}
        onChange={(event) => setEmail(event.target.value)}
      />
      <TextField
        label="Account name (optional)"
        autoComplete="organization"
        maxLength={200}
        value={name}
        problem={problemOf(error, 'name')}
        onChange={(event) => setName(event.target.value)}
      />
      <NewPasswordField label="Password" value={password} onChange={setPassword} problem={problemOf(error, 'password')} />
      {isKnown && <KnownEmail />}
      {error !== null && !signUpFields.some((field) => problemOf(error, field) !== undefined) && <ErrorNotice error={error} />}
      <Button type="submit" tone="primary" busy={busy} wide>
        Create the account
      </Button>
      <p className="muted">
        Already have an account? <Link href="/sign-in">Sign in</Link>
      </p>
    </Form>
  );
}

function KnownEmail() {
  return (
    <Notice tone="warn" role="alert" title="You could not be signed in with this email and password.">
      <span>
        If you already have an account, <Link href="/sign-in">sign in</Link> with its password.
      </span>
    </Notice>
  );
}
