/** Drop-down menus. Not modal: a modal menu injects inline styles, which the content security policy forbids. */
import { DropdownMenu } from 'radix-ui';
import { type ReactNode, useState } from 'react';

export function Menu({ trigger, children }: { trigger: ReactNode; children: ReactNode }) {
  const [button, setButton] = useState<HTMLButtonElement | null>(null);
  // Inside the landmark of the button, so that screen readers know which part of the page it belongs to.
  const landmark = button?.closest('dialog, main, nav') ?? null;
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger ref={setButton} asChild>
        {trigger}
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal container={landmark}>
        <DropdownMenu.Content className="menu" align="end" sideOffset={4} collisionPadding={8}>
          {children}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

export function MenuItem({ danger = false, onSelect, children }: { danger?: boolean; onSelect: () => void; children: ReactNode }) {
  return (
    <DropdownMenu.Item className={danger ? 'menu-item danger' : 'menu-item'} onSelect={onSelect}>
      {children}
    </DropdownMenu.Item>
  );
}

export function MenuNote({ children }: { children: ReactNode }) {
  return <DropdownMenu.Label className="menu-note">{children}</DropdownMenu.Label>;
}

export function MenuLine() {
  return <DropdownMenu.Separator className="menu-line" />;
}
