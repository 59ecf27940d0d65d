import { Box, Stack, Text, ThemeIcon, Title } from '@mantine/core';
import type { Icon } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { Command } from './command.tsx';

/** For an empty page or list: what will appear here, and the next step as a button or the exact command. */
export function EmptyState(props: {
  icon: Icon;
  title: string;
  children: ReactNode;
  command?: string;
  action?: ReactNode;
}) {
  const { icon: IconOfState, title, children, command, action } = props;
  return (
    <Stack align="center" gap="xs" py={48} px="md" maw={620} mx="auto" ta="center">
      <ThemeIcon variant="light" size={44} radius="md">
        <IconOfState size={24} />
      </ThemeIcon>
      <Title order={2}>{title}</Title>
      <Text c="dimmed" size="sm">
        {children}
      </Text>
      {command && (
        <Box w="100%" ta="left" mt="xs">
          <Command>{command}</Command>
        </Box>
      )}
      {action && <Box mt="xs">{action}</Box>}
    </Stack>
  );
}
