import { ActionIcon, Menu } from '@mantine/core';
import { IconDots } from '@tabler/icons-react';

export type RowAction = { label: string; onClick(): void; isDangerous?: boolean };

/** What can be done with a row of a table. `name` tells rows apart for screen readers. */
export function RowMenu({ name, actions }: { name: string; actions: readonly RowAction[] }) {
  return (
    <Menu position="bottom-end" withinPortal withInitialFocusPlaceholder={false}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={`Actions for ${name}`}>
          <IconDots size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {actions.map(({ label, onClick, isDangerous }) => (
          <Menu.Item key={label} onClick={onClick} {...(isDangerous && { c: 'var(--mantine-color-error)' })}>
            {label}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
