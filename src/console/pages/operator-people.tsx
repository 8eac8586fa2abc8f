/** The people of an account: links for those who forgot their password, and a reset for those who lost their second factor. */
import { useQueryClient } from '@tanstack/react-query';
import { Users } from 'lucide-react';
import { useState } from 'react';
import type { OperatorAccount, OperatorPasswordLink, OperatorPerson } from '../../contract/types.gen.ts';
import { createPasswordLink, resetTwoFactor } from '../api/operator.ts';
import { Button } from '../ui/button.tsx';
import { ConfirmDialog, Dialog, useAction } from '../ui/dialog.tsx';
import { Badge, Empty, ErrorNotice } from '../ui/feedback.tsx';
import { ShownOnce } from '../ui/shown-once.tsx';
import { hidden, Table } from '../ui/table.tsx';
import { Moment } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';

type Open = { kind: 'link'; person: OperatorPerson; link: OperatorPasswordLink } | { kind: 'reset'; person: OperatorPerson };

export function PeopleDialog({ account, onClose }: { account: OperatorAccount; onClose: () => void }) {
  const [open, setOpen] = useState<Open | null>(null);
  if (open?.kind === 'link') return <NewLinkDialog {...open} onClose={onClose} />;
  if (open?.kind === 'reset') return <ResetDialog person={open.person} onClose={onClose} />;
  return (
    <Dialog title={`People of ${account.name}`} onClose={onClose} wide>
      <p className="muted">
        A person who forgot the password needs a link. It works once, for an hour, and anyone who has it can take over the user, so
        verify who gets it. The account’s audit log records it. Links for operators come from the command line only.
      </p>
      {account.people.length === 0 ? (
        <Empty icon={Users} title="This account has no users" />
      ) : (
        <Table columns={['Person', hidden('Actions')]}>
          {account.people.map((person) => (
            <PersonRow key={person.id} person={person} onOpen={setOpen} />
          ))}
        </Table>
      )}
    </Dialog>
  );
}

function PersonRow({ person, onOpen }: { person: OperatorPerson; onOpen: (open: Open) => void }) {
  const { run, busy, error } = useAction(async () => onOpen({ kind: 'link', person, link: await createPasswordLink(person.id) }));
  return (
    <tr>
      <td data-label="Person">
        <span className="row">
          <span className="wrap-anywhere">{person.email}</span>
          {person.operator && <Badge>Operator</Badge>}
          {person.two_factor && <Badge tone="good">Two-factor</Badge>}
        </span>
        {error !== null && <ErrorNotice error={error} />}
      </td>
      <td className="acts">
        {!person.operator && (
          <span className="row" style={{ justifyContent: 'flex-end' }}>
            {person.two_factor && (
              <Button size="small" onClick={() => onOpen({ kind: 'reset', person })} aria-label={`Reset two-factor of ${person.email}`}>
                Reset two-factor
              </Button>
            )}
            <Button size="small" busy={busy} onClick={run} aria-label={`Create a password link for ${person.email}`}>
              Password link
            </Button>
          </span>
        )}
      </td>
    </tr>
  );
}

function NewLinkDialog({ person, link, onClose }: { person: OperatorPerson; link: OperatorPasswordLink; onClose: () => void }) {
  const note = `Send it to ${person.email} over a channel that you trust. It is shown only once, works once, and replaces an earlier link.`;
  return (
    <ShownOnce title="Link for a new password" label="the link" secret={link.url} note={note} onClose={onClose}>
      <p className="muted">
        It works until <Moment at={link.expires_at} />. Setting the password ends all sessions of this person.
      </p>
    </ShownOnce>
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
      <p>For somebody who lost the authenticator app and the recovery codes. Make sure that it is this person who asks. Then the password alone signs in, and all sessions of this person end.</p>
    </ConfirmDialog>
  );
}
