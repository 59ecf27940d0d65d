import { SimpleGrid, Skeleton, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';

export function Stats({ children }: { children: ReactNode }) {
  return (
    <SimpleGrid component="dl" cols={{ base: 2, md: 4 }} spacing="md" m={0}>
      {children}
    </SimpleGrid>
  );
}

/** A number with its label and an optional hint. Without a value, it shows a loading state. */
export function Stat({ label, value, hint }: { label: string; value: string | undefined; hint?: ReactNode }) {
  return (
    <Stack gap={2} className="panel" p="md" component="div">
      <Text component="dt" size="xs" c="dimmed">
        {label}
      </Text>
      <Text component="dd" m={0} fz={22} fw={600} lh={1.3} className="numeric">
        {value ?? <Skeleton height={22} width={90} my={3} />}
      </Text>
      {hint && (
        <Text component="dd" m={0} size="xs" c="dimmed">
          {hint}
        </Text>
      )}
    </Stack>
  );
}
