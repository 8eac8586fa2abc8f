/** Settings of the signed-in user: password, second factor, sessions, theme. */
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { ConsoleSessionEntry } from '../../contract/types.gen.ts';
import { endOtherSessions, endSession, useSessions } from '../api/account.ts';
import { ApiError, problemOf } from '../api/client.ts';
import { changePassword, sessionKey, useSession } from '../api/session.ts';
import { plural } from '../app/format.ts';
import { ThemeChoice } from '../app/shell.tsx';
import { Button } from '../ui/button.tsx';
import { useAction } from '../ui/dialog.tsx';
import { Badge, ErrorNotice, Load } from '../ui/feedback.tsx';
import { NewPasswordField, PasswordField } from '../ui/field.tsx';
import { Form } from '../ui/form.tsx';
import { More } from '../ui/more.tsx';
import { Facts, Page, Panel } from '../ui/panel.tsx';
import { hidden, Table } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';
import { roleNames } from './people.tsx';
import { TwoFactor } from './two-factor.tsx';
import { toast, toastFailure } from '../ui/toasts.tsx';

export function SettingsPage() {
  const { user, account } = useSession();
  return (
    <Page title="Settings" narrow>
      <Panel title="Account">
        <Facts
          facts={[
            ['Name', account.name],
            ['Email', user.email],
            ['Account', <code key="id">{account.id}</code>],
            ['Role', roleNames[user.role]],
            ['Plan', account.plan],
            ['Theme', <ThemeChoice key="theme" />],
          ]}
        />
      </Panel>
      <Password />
      <TwoFactor />
      <Sessions />
    </Page>
  );
}

function Password() {
  const client = useQueryClient();
  const { email } = useSession().user;
  const [current, setCurrent] = useState('');
  const [next, setNext] = useState('');
  const { run, busy, error } = useAction(async () => {
    const { ended } = await changePassword({ current_password: current, new_password: next });
    setCurrent('');
    setNext('');
    toast(ended > 0 ? `Password changed. ${plural(ended, 'other session')} ended.` : 'Password changed.');
    await client.invalidateQueries({ queryKey: ['sessions'] });
  });
  const wrong = error instanceof ApiError && error.code === 'wrong_password' ? error.message : undefined;
  const weak = problemOf(error, 'new_password');
  return (
    <Panel title="Password" note="Changing the password ends all other sessions.">
      <Form onSubmit={run}>
        <input type="hidden" autoComplete="username" value={email} readOnly />
        <PasswordField label="Current password" value={current} onChange={setCurrent} problem={wrong} />
        <NewPasswordField label="New password" value={next} onChange={setNext} problem={weak} />
        {error !== null && wrong === undefined && weak === undefined && <ErrorNotice error={error} />}
        <div>
          <Button type="submit" tone="primary" busy={busy}>
            Change password
          </Button>
        </div>
      </Form>
    </Panel>
  );
}

function Sessions() {
  const list = useSessions();
  const client = useQueryClient();
  const others = (list.data ?? []).some((session) => !session.current);
  const end = (action: () => Promise<{ ended: number }>) =>
    toastFailure(async () => {
      const { ended } = await action();
      toast(`${plural(ended, 'session')} ended.`);
      await Promise.all([client.invalidateQueries({ queryKey: ['sessions'] }), client.invalidateQueries({ queryKey: sessionKey })]);
    });
  return (
    <Panel
      title="Sessions"
      flush
      actions={
        others && (
          <Button size="small" onClick={() => void end(endOtherSessions)}>
            End all others
          </Button>
        )
      }
    >
      <Load query={list}>
        {(sessions) => (
          <Table columns={['Browser', 'Last seen', hidden('Actions')]}>
            {sessions.map((session) => (
              <SessionRow key={session.id} session={session} onEnd={() => void end(() => endSession(session.id))} />
            ))}
          </Table>
        )}
      </Load>
      <More list={list} />
    </Panel>
  );
}

function SessionRow({ session, onEnd }: { session: ConsoleSessionEntry; onEnd: () => void }) {
  return (
    <tr>
      <td data-label="Browser">
        <span className="row">
          <span title={session.user_agent}>{browserOf(session.user_agent)}</span>
          {session.current && <Badge tone="good">Current</Badge>}
        </span>
      </td>
      <td data-label="Last seen" className="small muted">
        <Ago at={session.last_seen_at} />
      </td>
      <td className="acts">
        {!session.current && (
          <Button size="small" onClick={onEnd} aria-label={`End the session of ${browserOf(session.user_agent)}`}>
            End
          </Button>
        )}
      </td>
    </tr>
  );
}

/** In this order: the User-Agent of Edge also names Chrome and Safari, that of Chrome Safari, of Android Linux, of iOS Mac OS. */
const browsers = { Edge: /Edg\//, Firefox: /Firefox\//, Chrome: /Chrome\//, Safari: /Safari\// };
const systems = { Android: /Android/, iOS: /iPhone|iPad/, Windows: /Windows/, macOS: /Mac OS/, Linux: /Linux/ };

/** Browser and operating system, as far as the User-Agent names them. */
function browserOf(agent: string): string {
  const firstIn = (patterns: Record<string, RegExp>) => Object.keys(patterns).find((name) => patterns[name]!.test(agent));
  const text = [firstIn(browsers), firstIn(systems)].filter(Boolean).join(' on ');
  return text === '' ? agent.slice(0, 40) || 'Unknown' : text;
}
