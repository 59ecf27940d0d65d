import { ActionIcon, Menu, Text } from '@mantine/core';
import { IconDots } from '@tabler/icons-react';

export type RowAction = {
  label: string;
  onClick(): void;
  isDangerous?: boolean;
  /** Why the action is unavailable. */
  obstacle?: string | undefined;
};

/** A table row's actions. `name` identifies the row for screen readers. */
export function RowMenu({ name, actions }: { name: string; actions: readonly RowAction[] }) {
  return (
    <Menu position="bottom-end" withinPortal withInitialFocusPlaceholder={false}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={`Actions for ${name}`}>
          <IconDots size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {actions.map(({ label, onClick, isDangerous, obstacle }) => (
          <Menu.Item
            key={label}
            // Not `disabled`, because the reason must be reachable by keyboard, and Escape works only while focus is
            // inside the menu.
            {...(obstacle === undefined
              ? { onClick }
              : { 'aria-disabled': true, closeMenuOnClick: false, c: 'dimmed', style: { cursor: 'not-allowed' } })}
            {...(isDangerous && { c: 'var(--mantine-color-error)' })}
          >
            {label}
            {obstacle && <Text size="xs">{obstacle}</Text>}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
