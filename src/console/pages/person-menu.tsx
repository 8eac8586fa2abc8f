/** What can be done with a person of an account: change the role, remove. */
import { MoreHorizontal, ShieldCheck, Trash2, UserRound } from 'lucide-react';
import type { ReactNode } from 'react';
import type { Role } from '../../contract/types.gen.ts';
import { IconButton } from '../ui/button.tsx';
import { Menu, MenuItem } from '../ui/menu.tsx';

export const otherRole = (role: Role): Role => (role === 'admin' ? 'member' : 'admin');

export const roleWithArticle: Record<Role, string> = { admin: 'an admin', member: 'a member' };

interface PersonMenuProps {
  person: { email: string; role: Role };
  onChangeRole: () => void;
  onRemove: () => void;
  /** further items, shown first */
  children?: ReactNode;
}

export function PersonMenu({ person, onChangeRole, onRemove, children }: PersonMenuProps) {
  const other = otherRole(person.role);
  return (
    <Menu
      trigger={
        <IconButton label={`Actions for ${person.email}`} tone="quiet" size="small">
          <MoreHorizontal size={16} aria-hidden="true" />
        </IconButton>
      }
    >
      {children}
      <MenuItem onSelect={onChangeRole}>
        {other === 'admin' ? <ShieldCheck size={15} aria-hidden="true" /> : <UserRound size={15} aria-hidden="true" />}
        Make {roleWithArticle[other]}
      </MenuItem>
      <MenuItem danger onSelect={onRemove}>
        <Trash2 size={15} aria-hidden="true" />
        Remove
      </MenuItem>
    </Menu>
  );
}
