import { Group, Stack, Text, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import type { ReactNode } from 'react';

/** A page's frame: the title (also used for the tab), a one-line description, and actions. */
export function Page(props: { title: string; lead?: ReactNode; actions?: ReactNode; children: ReactNode }) {
  const { title, lead, actions, children } = props;
  useDocumentTitle(`${title} · Tollgate`);
  return (
    <Stack gap="lg">
      <Group justify="space-between" align="flex-start" gap="md">
        <Stack gap={2}>
          <Title order={1}>{title}</Title>
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
