import { NavLink, Stack, Text } from '@mantine/core';
import { Link, useLocation } from 'wouter';
import { PAGE_ROUTES, type PageRoute } from '../pages/routes.tsx';

const GROUPS: readonly PageRoute['group'][] = ['Project', 'Revenue', 'Delivery', 'Developers'];

/** The links to a project's pages. */
export function Navigation({ projectId, onGo }: { projectId: string; onGo(): void }) {
  const [location] = useLocation();
  return (
    <Stack gap="md" component="nav" aria-label="Project">
      {GROUPS.map((group) => (
        <Stack gap={2} key={group}>
          <Text fz={11} fw={600} c="dimmed" px="xs" tt="uppercase" lts="0.04em">
            {group}
          </Text>
          {PAGE_ROUTES.filter((route) => route.group === group).map(({ path, label, icon: RouteIcon }) => {
            const href = `/projects/${projectId}${path.replace(/\/:.*$/, '')}`;
            const isCurrent = location === href || (path !== '' && location.startsWith(`${href}/`));
            return (
              <NavLink
                key={path}
                component={Link}
                href={href}
                label={label}
                leftSection={<RouteIcon size={17} stroke={1.7} />}
                active={isCurrent}
                aria-current={isCurrent ? 'page' : undefined}
                className="nav-link"
                onClick={onGo}
              />
            );
          })}
        </Stack>
      ))}
    </Stack>
  );
}
