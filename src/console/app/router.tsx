/** Maps URLs to pages. */
import { Compass } from 'lucide-react';
import { Redirect, Route, Switch } from 'wouter';
import { useSession } from '../api/session.ts';
import { CreditsPage } from '../pages/credits.tsx';
import { EnhancePage } from '../pages/enhance.tsx';
import { ExamplePage } from '../pages/example.tsx';
import { HomePage } from '../pages/home.tsx';
import { JobPage } from '../pages/job.tsx';
import { JobsPage } from '../pages/jobs.tsx';
import { KeysPage } from '../pages/keys.tsx';
import { OperatorAccountsPage } from '../pages/operator-accounts.tsx';
import { OperatorFailuresPage, OperatorOverviewPage, OperatorWorkersPage } from '../pages/operator.tsx';
import { PeoplePage } from '../pages/people.tsx';
import { PreviewPage, PreviewsPage } from '../pages/previews.tsx';
import { RequestLogPage } from '../pages/request-log.tsx';
import { SecurePage } from '../pages/secure.tsx';
import { SettingsPage } from '../pages/settings.tsx';
import { WebhooksPage } from '../pages/webhooks.tsx';
import { LinkButton } from '../ui/button.tsx';
import { Empty } from '../ui/feedback.tsx';
import { Page } from '../ui/panel.tsx';

export function Pages() {
  const { operator } = useSession().user;
  return (
    <Switch>
      <Route path="/" component={HomePage} />
      <Route path="/enhance" component={EnhancePage} />
      <Route path="/example" component={ExamplePage} />
      <Route path="/jobs" component={JobsPage} />
      <Route path="/jobs/:id">{({ id }) => <JobPage key={id} id={id} />}</Route>
      <Route path="/previews" component={PreviewsPage} />
      <Route path="/previews/:id">{({ id }) => <PreviewPage key={id} id={id} />}</Route>
      <Route path="/keys" component={KeysPage} />
      <Route path="/webhooks" component={WebhooksPage} />
      <Route path="/request-log" component={RequestLogPage} />
      <Route path="/credits" component={CreditsPage} />
      <Route path="/secure" component={SecurePage} />
      <Route path="/people" component={PeoplePage} />
      <Route path="/settings" component={SettingsPage} />
      {operator && <Route path="/operator" component={OperatorOverviewPage} />}
      {operator && <Route path="/operator/accounts" component={OperatorAccountsPage} />}
      {operator && <Route path="/operator/workers" component={OperatorWorkersPage} />}
      {operator && <Route path="/operator/failures" component={OperatorFailuresPage} />}
      <Route path="/sign-in">
        <Redirect to="/" replace />
      </Route>
      <Route path="/sign-up">
        <Redirect to="/" replace />
      </Route>
      <Route component={NothingHere} />
    </Switch>
  );
}

function NothingHere() {
  return (
    <Page title="Not found">
      <Empty icon={Compass} title="This page does not exist" action={<LinkButton href="/">Go to the home page</LinkButton>}>
        The link may be old, or the page may need an operator.
      </Empty>
    </Page>
  );
}
