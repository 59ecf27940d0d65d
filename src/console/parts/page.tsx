import { Group, Stack, Text, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { type ReactNode, use } from 'react';
import { CurrentProjectContext } from './current-project.tsx';
import { HelpLink } from './help-link.tsx';
import { MoneyBadge } from './mode.tsx';

/**
 * A page's frame: the title (also used for the tab), a link to its documentation, a one-line description, and actions.
 *
 * @param isAboutMoney shows next to the title whether the project's money is real.
 */
export function Page(props: {
  title: string;
  lead?: ReactNode;
  actions?: ReactNode;
  isAboutMoney?: boolean;
  children: ReactNode;
}) {
  const { title, lead, actions, isAboutMoney = false, children } = props;
  const project = use(CurrentProjectContext);
  useDocumentTitle(tabTitle(title, project));
  return (
    <Stack gap="lg">
      <Group justify="space-between" align="flex-start" gap="md">
        <Stack gap={2} className="page-head">
          <Group gap="xs">
            <Title order={1}>{title}</Title>
            <HelpLink title={title} />
            {isAboutMoney && project && <MoneyBadge mode={project.mode} />}
          </Group>
          {lead && (
            <Text c="dimmed" size="sm">
              {lead}
            </Text>
          )}
        </Stack>
        {actions && <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </Stack>
  );
}

/** The title of the browser's tab: `Payments · Weather API (test) · Tollgate`. */
function tabTitle(title: string, project: { name: string; mode: 'TEST' | 'LIVE' } | undefined): string {
  const mode = project?.mode === 'TEST' ? ' (test)' : '';
  const words = title === project?.name ? [title + mode] : [title, ...(project ? [project.name + mode] : [])];
  return [...words, 'Tollgate'].join(' · ');
}

/** A bordered section of a page, with its own heading. `flush` removes the padding, for tables. */
export function Panel(props: { title?: string; children: ReactNode; flush?: boolean }) {
  const { title, children, flush = false } = props;
  return (
    <section className="panel" aria-label={title}>
      {title && (
        <Title order={2} fz="sm" px="md" pt="sm" pb={flush ? 'sm' : 0}>
          {title}
        </Title>
      )}
      {flush ? children : <Stack p="md">{children}</Stack>}
    </section>
  );
}
