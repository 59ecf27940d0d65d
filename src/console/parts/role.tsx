import { Text, Tooltip } from '@mantine/core';
import type { ReactNode } from 'react';
import { useProject } from './current-project.tsx';
import { formatEnum } from './format.ts';

export type Role = 'OWNER' | 'ADMIN' | 'DEVELOPER' | 'VIEWER';

const RANKED: readonly Role[] = ['VIEWER', 'DEVELOPER', 'ADMIN', 'OWNER'];

/** Explains why the signed-in person can't do something that requires this role. Undefined if they can. */
export function useRoleObstacle(lowest: Role): string | undefined {
  return useRoleObstacles()(lowest);
}

/** Like `useRoleObstacle`, but returns a function that can check several roles. */
export function useRoleObstacles(): (lowest: Role) => string | undefined {
  const role = useProject().viewerRole ?? 'VIEWER';
  return (lowest) => roleObstacle(role, lowest);
}

/** Explains why someone with this role can't do something that requires another one. Undefined if they can. */
export function roleObstacle(role: Role, lowest: Role): string | undefined {
  if (RANKED.indexOf(role) >= RANKED.indexOf(lowest)) return undefined;
  const needed = formatEnum(lowest).toLowerCase();
  return `Your role in this project is ${formatEnum(role).toLowerCase()}. This requires the ${needed} role.`;
}

/** A part of a page whose controls are disabled for people with a lower role, with an explanation. */
export function ForRole({ lowest, children }: { lowest: Role; children: ReactNode }) {
  const obstacle = useRoleObstacle(lowest);
  if (!obstacle) return children;
  return (
    <fieldset disabled className="for-role">
      <Text size="sm" c="dimmed">
        {obstacle}
      </Text>
      {children}
    </fieldset>
  );
}

/** Like `ForRole`, but for a single button, with the explanation in a tooltip. */
export function ActionForRole({ lowest, children }: { lowest: Role; children: ReactNode }) {
  const obstacle = useRoleObstacle(lowest);
  if (!obstacle) return children;
  return (
    <Tooltip label={obstacle}>
      <fieldset disabled className="for-role" aria-label={obstacle}>
        {children}
      </fieldset>
    </Tooltip>
  );
}
