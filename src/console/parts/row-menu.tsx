import { ActionIcon, Menu, Text } from '@mantine/core';
import { IconDots } from '@tabler/icons-react';
import { type Role, useRoleObstacles } from './role.tsx';

export type RowAction = {
  label: string;
  onClick(): void;
  /** The lowest role that may perform the action. */
  lowest: Role;
  isDangerous?: boolean;
  /** Why the action is unavailable to everyone. */
  obstacle?: string | undefined;
};

/**
 * A table row's actions. An action that the person's role doesn't allow is disabled and says why. `name` identifies the
 * row for screen readers.
 */
export function RowMenu({ name, actions }: { name: string; actions: readonly RowAction[] }) {
  const roleObstacle = useRoleObstacles();
  const items = actions.map((action) => ({ ...action, obstacle: roleObstacle(action.lowest) ?? action.obstacle }));
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={`Actions for ${name}`}>
          <IconDots size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {items.map(({ label, onClick, isDangerous, obstacle }) => (
          <Menu.Item
            key={label}
            // Not `disabled`, because the reason must be reachable by keyboard, and Escape works only while focus is
            // inside the menu.
            {...(obstacle === undefined
              ? { onClick }
              : { 'aria-disabled': true, closeMenuOnClick: false, c: 'dimmed', style: { cursor: 'not-allowed' } })}
            {...(isDangerous && obstacle === undefined && { c: 'var(--mantine-color-error)' })}
          >
            {label}
            {obstacle && <Text size="xs">{obstacle}</Text>}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
