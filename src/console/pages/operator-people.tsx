/** The people of an account: links for those who forgot their password, a reset for those who lost their second factor, roles, removal. */
import { useQueryClient } from '@tanstack/react-query';
import { KeyRound, Users } from 'lucide-react';
import { useState } from 'react';
import type { OperatorAccount, OperatorPasswordLink, OperatorPerson } from '../../contract/types.gen.ts';
import { changeRole, createPasswordLink, removePerson, resetTwoFactor } from '../api/operator.ts';
import { isolate } from '../app/format.ts';
import { Button } from '../ui/button.tsx';
import { ConfirmDialog, Dialog, useAction } from '../ui/dialog.tsx';
import { Badge, Empty, ErrorNotice } from '../ui/feedback.tsx';
import { MenuItem } from '../ui/menu.tsx';
import { ShownOnce, useShowOnce } from '../ui/shown-once.tsx';
import { hidden, Table } from '../ui/table.tsx';
import { DateTime } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { roleNames } from './people.tsx';
import { otherRole, PersonMenu } from './person-menu.tsx';

type Open = { kind: 'reset' | 'remove'; person: OperatorPerson };

export function PeopleDialog({ account, onClose }: { account: OperatorAccount; onClose: () => void }) {
  const [open, setOpen] = useState<Open | null>(null);
  if (open?.kind === 'reset') return <ResetDialog person={open.person} onClose={onClose} />;
  if (open?.kind === 'remove') return <RemoveDialog person={open.person} account={account.name} onClose={onClose} />;
  return (
    <Dialog title={`People of ${isolate(account.name)}`} onClose={onClose} wide>
      <p className="muted">
        A person who forgot the password needs a link. It works once, for an hour. Anyone with the link can take over the user: check
        who gets it. The account’s audit log records each link and change. Manage operators on the command line.
      </p>
      {account.people.length === 0 ? (
        <Empty icon={Users} title="This account has no users" />
      ) : (
        <Table columns={['Person', 'Role', hidden('Actions')]}>
          {account.people.map((person) => (
            <PersonRow key={person.id} person={person} onOpen={setOpen} onClose={onClose} />
          ))}
        </Table>
      )}
    </Dialog>
  );
}

interface PersonProps {
  person: OperatorPerson;
  onOpen: (open: Open) => void;
  onClose: () => void;
}

function PersonRow({ person, onOpen, onClose }: PersonProps) {
  const client = useQueryClient();
  const showOnce = useShowOnce();
  const link = useAction(async () => {
    const made = await createPasswordLink(person.id);
    showOnce((onCopied) => <NewLinkDialog person={person} link={made} onClose={onCopied} />);
  }, onClose);
  const role = useAction(async () => {
    await changeRole(person.id, otherRole(person.role));
    await client.invalidateQueries({ queryKey: ['operator'] });
  });
  // Shown beside the person whom it is about.
  const error = link.error ?? role.error;
  return (
    <>
      <tr>
        <td data-label="Person">
          <span className="row">
            <span className="wrap-anywhere">{person.email}</span>
            {person.operator && <Badge>Operator</Badge>}
            {person.two_factor && <Badge tone="good">Two-factor</Badge>}
          </span>
        </td>
        <td data-label="Role">
          <span aria-live="polite">{roleNames[person.role]}</span>
        </td>
        <td className="acts">
          {!person.operator && (
            <span className="row" style={{ justifyContent: 'flex-end', flexWrap: 'nowrap' }}>
              <Button size="small" busy={link.busy} onClick={link.run} aria-label={`Create a password link for ${person.email}`}>
                Password link
              </Button>
              <PersonMenu person={person} onChangeRole={role.run} onRemove={() => onOpen({ kind: 'remove', person })}>
                {person.two_factor && (
                  <MenuItem onSelect={() => onOpen({ kind: 'reset', person })}>
                    <KeyRound size={15} aria-hidden="true" />
                    Reset two-factor
                  </MenuItem>
                )}
              </PersonMenu>
            </span>
          )}
        </td>
      </tr>
      {error !== null && (
        <tr>
          <td colSpan={3}>
            <ErrorNotice error={error} />
          </td>
        </tr>
      )}
    </>
  );
}

function NewLinkDialog({ person, link, onClose }: { person: OperatorPerson; link: OperatorPasswordLink; onClose: () => void }) {
  const note = `Send it to ${person.email} over a channel that you trust. It is shown only once, works once, and replaces an earlier link.`;
  return (
    <ShownOnce title="Link for a new password" label="the link" secret={link.url} note={note} onClose={onClose}>
      <p className="muted">
        It works until <DateTime at={link.expires_at} />. Setting the password ends all sessions of this person.
      </p>
    </ShownOnce>
  );
}

function RemoveDialog({ person, account, onClose }: { person: OperatorPerson; account: string; onClose: () => void }) {
  const client = useQueryClient();
  const remove = async () => {
    await removePerson(person.id);
    toast(`${person.email} is removed.`);
    await client.invalidateQueries({ queryKey: ['operator'] });
  };
  return (
    <ConfirmDialog title={`Remove ${person.email}?`} action="Remove" danger onClose={onClose} onConfirm={remove}>
      <p>All sessions of this person end at once. API keys that the person knows still work until an admin of <bdi>{account}</bdi> rotates them.</p>
    </ConfirmDialog>
  );
}

function ResetDialog({ person, onClose }: { person: OperatorPerson; onClose: () => void }) {
  const client = useQueryClient();
  const reset = async () => {
    await resetTwoFactor(person.id);
    toast(`The second factor of ${person.email} is reset.`);
    await client.invalidateQueries({ queryKey: ['operator'] });
  };
  return (
    <ConfirmDialog title={`Reset the second factor of ${person.email}?`} action="Reset" danger onClose={onClose} onConfirm={reset}>
      <p>For a person who lost the authenticator app and the recovery codes. Check the person’s identity first. Afterwards they sign in with the password alone; all their sessions end.</p>
    </ConfirmDialog>
  );
}
