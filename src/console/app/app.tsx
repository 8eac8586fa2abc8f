/** The root component: the shell with its pages for signed-in users, the sign-in page for others. */
import { Activity, Component, type ReactNode, useLayoutEffect } from 'react';
import { useLocation } from 'wouter';
import { SessionContext, useOpenPage, useSessionQuery } from '../api/session.ts';
import { SignInPage } from '../pages/sign-in.tsx';
import { InvitationPage } from '../pages/invitation.tsx';
import { NewPasswordPage } from '../pages/new-password.tsx';
import { Button } from '../ui/button.tsx';
import { Failed, Notice } from '../ui/feedback.tsx';
import { ShownSecrets } from '../ui/shown-once.tsx';
import { Toasts } from '../ui/toasts.tsx';
import { LeaveQuestion } from './leave-guard.tsx';
import { Pages } from './router.tsx';
import { Shell } from './shell.tsx';

export function App() {
  const [location] = useLocation();
  // Pages of links that people send each other. They open with and without a session.
  if (location === '/new-password') return <NewPasswordPage />;
  if (location === '/invitation') return <InvitationPage />;
  return <Console />;
}

function Console() {
  const { data: session, error, refetch } = useSessionQuery();
  const open = useOpenPage();
  const [location] = useLocation();
  if (session === undefined) {
    if (error === null) return <div className="boot" aria-busy="true" aria-label="Loading" role="status" />;
    return (
      <main className="boot">
        <Failed error={error} onRetry={() => void refetch()} />
      </main>
    );
  }
  return (
    <>
      {session === null && <SignInPage hasEnded={open !== null} />}
      {/* A session that ends takes no input away: the page waits, unseen, until its user has signed in again. */}
      {open !== null && (
        <Activity mode={session === null ? 'hidden' : 'visible'}>
          <SessionContext value={session ?? open.session}>
            <Quiet key={open.id}>
              <ShownSecrets>
                <Shell>
                  <Boundary key={location}>
                    <Pages />
                  </Boundary>
                  <LeaveQuestion />
                </Shell>
              </ShownSecrets>
            </Quiet>
          </SessionContext>
        </Activity>
      )}
      <Toasts />
    </>
  );
}

/** Pauses videos while the page is not seen. */
function Quiet({ children }: { children: ReactNode }) {
  useLayoutEffect(
    () => () => {
      for (const video of document.querySelectorAll('video')) video.pause();
    },
    [],
  );
  return children;
}

/** An error boundary per page: the navigation keeps working when a page crashes. */
class Boundary extends Component<{ children: ReactNode }, { broken: boolean }> {
  override state = { broken: false };

  static getDerivedStateFromError() {
    return { broken: true };
  }

  override render() {
    if (!this.state.broken) return this.props.children;
    return (
      <div className="page narrow">
        <Notice tone="bad" role="alert" title="This page crashed.">
          <span>That is a fault of the console; your jobs are not affected.</span>
          <div>
            <Button size="small" onClick={() => window.location.reload()}>
              Load it again
            </Button>
          </div>
        </Notice>
      </div>
    );
  }
}
