/** The people of an account, and links for those who forgot their password. */
import { useState } from 'react';
import type { OperatorAccount, OperatorPasswordLink, OperatorPerson } from '../../contract/types.gen.ts';
import { createPasswordLink } from '../api/operator.ts';
import { Button } from '../ui/button.tsx';
import { Dialog, useAction } from '../ui/dialog.tsx';
import { Badge, Empty, ErrorNotice } from '../ui/feedback.tsx';
import { ShownOnce } from '../ui/shown-once.tsx';
import { hidden, Table } from '../ui/table.tsx';
import { Moment } from '../ui/time.tsx';
import { Users } from 'lucide-react';

interface NewLink {
  person: OperatorPerson;
  link: OperatorPasswordLink;
}

export function PeopleDialog({ account, onClose }: { account: OperatorAccount; onClose: () => void }) {
  const [made, setMade] = useState<NewLink | null>(null);
  if (made !== null) return <NewLinkDialog {...made} onClose={onClose} />;
  return (
    <Dialog title={`People of ${account.name}`} onClose={onClose} wide>
      <p className="muted">
        For somebody who forgot the password: a link works once, for an hour. Whoever has it can take over the user, so make sure
        whom you give it to. The account’s audit log records it. Operators get one on the command line only.
      </p>
      {account.people.length === 0 ? (
        <Empty icon={Users} title="This account has no users" />
      ) : (
        <Table columns={['Person', hidden('Actions')]}>
          {account.people.map((person) => (
            <PersonRow key={person.id} person={person} onMade={(link) => setMade({ person, link })} />
          ))}
        </Table>
      )}
    </Dialog>
  );
}

function PersonRow({ person, onMade }: { person: OperatorPerson; onMade: (link: OperatorPasswordLink) => void }) {
  const { run, busy, error } = useAction(async () => onMade(await createPasswordLink(person.id)));
  return (
    <tr>
      <td data-label="Person">
        <span className="row">
          <span className="wrap-anywhere">{person.email}</span>
          {person.operator && <Badge>Operator</Badge>}
        </span>
        {error !== null && <ErrorNotice error={error} />}
      </td>
      <td className="acts">
        {!person.operator && (
          <Button size="small" busy={busy} onClick={run} aria-label={`Create a password link for ${person.email}`}>
            Password link
          </Button>
        )}
      </td>
    </tr>
  );
}

function NewLinkDialog({ person, link, onClose }: NewLink & { onClose: () => void }) {
  const note = `Send it to ${person.email} over a channel that you trust. It is shown only once, works once, and replaces an earlier link.`;
  return (
    <ShownOnce title="Link for a new password" label="the link" secret={link.url} note={note} onClose={onClose}>
      <p className="muted">
        It works until <Moment at={link.expires_at} />. Setting the password ends all sessions of this person.
      </p>
    </ShownOnce>
  );
}
