import { Box, Stack, Text, ThemeIcon, Title } from '@mantine/core';
import type { Icon } from '@tabler/icons-react';
import type { ReactNode } from 'react';

/** For an empty page or list: what will appear here, and the next step as a button. */
export function EmptyState(props: { icon: Icon; title: string; children: ReactNode; action?: ReactNode }) {
  const { icon: IconOfState, title, children, action } = props;
  return (
    <Stack align="center" gap="xs" py={48} px="md" maw={620} mx="auto" ta="center">
      <ThemeIcon variant="light" size={44} radius="md">
        <IconOfState size={24} />
      </ThemeIcon>
      <Title order={2}>{title}</Title>
      <Text c="dimmed" size="sm">
        {children}
      </Text>
      {action && <Box mt="xs">{action}</Box>}
    </Stack>
  );
}
