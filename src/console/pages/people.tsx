/** The people of the account: roles, removal, and invitations. A new invitation's link is shown once. */
import { useQueryClient } from '@tanstack/react-query';
import { Plus, Users } from 'lucide-react';
import { useState } from 'react';
import type { ConsoleInvitation, ConsoleInviteResponse, ConsolePerson, Role } from '../../contract/types.gen.ts';
import { problemOf } from '../api/client.ts';
import { changeRole, invite, peopleKey, removePerson, revokeInvitation, useInvitations, usePeople } from '../api/people.ts';
import { sessionKey, useIsAdmin, useSession } from '../api/session.ts';
import { Button } from '../ui/button.tsx';
import { ConfirmDialog, useAction } from '../ui/dialog.tsx';
import { Badge, Empty, Load, LoadList } from '../ui/feedback.tsx';
import { Choices, TextField } from '../ui/field.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { More } from '../ui/more.tsx';
import { Page, Panel } from '../ui/panel.tsx';
import { ShownOnce, useShowOnce } from '../ui/shown-once.tsx';
import { hidden, Table } from '../ui/table.tsx';
import { Ago, DateTime } from '../ui/time.tsx';
import { toast, toastFailure } from '../ui/toasts.tsx';
import { otherRole, PersonMenu, roleWithArticle } from './person-menu.tsx';

type Open = { kind: 'invite' } | { kind: 'remove'; person: ConsolePerson } | { kind: 'revoke'; invitation: ConsoleInvitation };

export const roleNames: Record<Role, string> = { admin: 'Admin', member: 'Member' };

function useRefresh() {
  const client = useQueryClient();
  // The user's own role may have changed, too.
  return () => Promise.all([peopleKey, sessionKey].map((queryKey) => client.invalidateQueries({ queryKey })));
}

export function PeoplePage() {
  const refresh = useRefresh();
  const isAdmin = useIsAdmin();
  const [open, setOpen] = useState<Open | null>(null);
  const showOnce = useShowOnce();
  const close = () => setOpen(null);
  const actions = isAdmin && (
    <Button tone="primary" onClick={() => setOpen({ kind: 'invite' })}>
      <Plus size={15} aria-hidden="true" />
      Invite a person
    </Button>
  );
  return (
    <Page title="People" intro="Members enhance videos and read. Admins also manage keys, webhooks, retention and people." actions={actions}>
      <PeoplePanel onOpen={setOpen} />
      <InvitationsPanel onOpen={setOpen} />
      {open?.kind === 'invite' && (
        <InviteDialog
          onClose={close}
          onMade={(made) => {
            showOnce((onClose) => <NewInvitation made={made} onClose={onClose} />);
            void refresh();
          }}
        />
      )}
      {open?.kind === 'remove' && <RemoveDialog person={open.person} onClose={close} />}
      {open?.kind === 'revoke' && <RevokeDialog invitation={open.invitation} onClose={close} />}
    </Page>
  );
}

function PeoplePanel({ onOpen }: { onOpen: (open: Open) => void }) {
  const list = usePeople();
  return (
    <Panel title="People" flush>
      <Load query={list}>
        {(people) => (
          <Table columns={['Person', 'Role', 'Joined', hidden('Actions')]}>
            {people.map((person) => (
              <PersonRow key={person.id} person={person} onOpen={onOpen} />
            ))}
          </Table>
        )}
      </Load>
      <More list={list} />
    </Panel>
  );
}

function PersonRow({ person, onOpen }: { person: ConsolePerson; onOpen: (open: Open) => void }) {
  const isAdmin = useIsAdmin();
  const { user } = useSession();
  return (
    <tr>
      <td data-label="Person">
        <span className="row">
          <span className="wrap-anywhere">{person.email}</span>
          {person.id === user.id && <Badge>You</Badge>}
          {person.operator && <Badge>Operator</Badge>}
          {person.two_factor && <Badge tone="good">Two-factor</Badge>}
        </span>
      </td>
      <td data-label="Role">{roleNames[person.role]}</td>
      <td data-label="Joined" className="small muted">
        <Ago at={person.created_at} />
      </td>
      <td className="acts">{isAdmin && <OwnPersonMenu person={person} onOpen={onOpen} />}</td>
    </tr>
  );
}

function OwnPersonMenu({ person, onOpen }: { person: ConsolePerson; onOpen: (open: Open) => void }) {
  const refresh = useRefresh();
  const change = () =>
    toastFailure(async () => {
      const other = otherRole(person.role);
      await changeRole(person.id, other);
      toast(`${person.email} is ${roleWithArticle[other]} now.`);
      await refresh();
    });
  return <PersonMenu person={person} onChangeRole={() => void change()} onRemove={() => onOpen({ kind: 'remove', person })} />;
}

function InvitationsPanel({ onOpen }: { onOpen: (open: Open) => void }) {
  const isAdmin = useIsAdmin();
  const list = useInvitations();
  return (
    <Panel title="Open invitations" flush>
      <LoadList query={list} empty={<Empty icon={Users} title="No open invitations" />}>
        {(invitations) => (
          <Table columns={['For', 'Role', 'Expires', hidden('Actions')]}>
            {invitations.map((invitation) => (
              <tr key={invitation.id}>
                <td data-label="For" className="wrap-anywhere">{invitation.email}</td>
                <td data-label="Role">{roleNames[invitation.role]}</td>
                <td data-label="Expires" className="small muted">
                  <Ago at={invitation.expires_at} />
                </td>
                <td className="acts">
                  {isAdmin && (
                    <Button size="small" onClick={() => onOpen({ kind: 'revoke', invitation })} aria-label={`Revoke the invitation of ${invitation.email}`}>
                      Revoke
                    </Button>
                  )}
                </td>
              </tr>
            ))}
          </Table>
        )}
      </LoadList>
      <More list={list} />
    </Panel>
  );
}

function InviteDialog({ onClose, onMade }: { onClose: () => void; onMade: (made: ConsoleInviteResponse) => void }) {
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Role>('member');
  const form = useAction(async () => onMade(await invite({ email: email.trim(), role })), onClose);
  return (
    <FormDialog title="Invite a person" action="Invite" onClose={onClose} {...form} fields={['email']}>
      <TextField
        label="Email"
        type="email"
        required
        autoFocus
        value={email}
        problem={problemOf(form.error, 'email')}
        hint="The person signs in with it. Anyone who already has an account here needs another email."
        onChange={(event) => setEmail(event.target.value)}
      />
      <Choices<Role>
        label="Role"
        value={role}
        onChange={setRole}
        choices={[
          { value: 'member', title: 'Member', text: 'Jobs, previews, uploads, and reading.' },
          { value: 'admin', title: 'Admin', text: 'Also keys, webhooks, retention and people.' },
        ]}
      />
    </FormDialog>
  );
}

function NewInvitation({ made, onClose }: { made: ConsoleInviteResponse; onClose: () => void }) {
  const { email, expires_at } = made.invitation;
  const note = `Send it to ${email} yourself, over a channel that you trust. It is shown only once, and works once.`;
  return (
    <ShownOnce title="Link of the invitation" label="the link" secret={made.url} note={note} onClose={onClose}>
      <p className="muted">
        It works until <DateTime at={expires_at} />, unless you revoke it.
      </p>
    </ShownOnce>
  );
}

function RemoveDialog({ person, onClose }: { person: ConsolePerson; onClose: () => void }) {
  const refresh = useRefresh();
  const remove = async () => {
    await removePerson(person.id);
    toast(`${person.email} is removed.`);
    await refresh();
  };
  return (
    <ConfirmDialog title={`Remove ${person.email}?`} action="Remove" danger onClose={onClose} onConfirm={remove}>
      <p>All sessions of this person end at once. API keys that the person knows still work: rotate them.</p>
    </ConfirmDialog>
  );
}

function RevokeDialog({ invitation, onClose }: { invitation: ConsoleInvitation; onClose: () => void }) {
  const refresh = useRefresh();
  const revoke = async () => {
    await revokeInvitation(invitation.id);
    toast('The invitation is revoked.');
    await refresh();
  };
  return (
    <ConfirmDialog title={`Revoke the invitation of ${invitation.email}?`} action="Revoke" danger onClose={onClose} onConfirm={revoke}>
      <p>The link stops working.</p>
    </ConfirmDialog>
  );
}
