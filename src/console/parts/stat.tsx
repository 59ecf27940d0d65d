import { Anchor, SimpleGrid, Skeleton, Stack, Text } from '@mantine/core';
import { Children, type ReactNode } from 'react';
import { Link } from 'wouter';

/** Numbers in one row, or in two columns on narrow screens. */
export function Stats({ children }: { children: ReactNode }) {
  return (
    <SimpleGrid component="dl" cols={{ base: 2, md: Children.count(children) }} spacing="md" m={0}>
      {children}
    </SimpleGrid>
  );
}

/**
 * A number with its label and an optional hint. Without a value, it shows a loading state. With `href`, the whole card
 * links to the list of the items that it counts.
 */
export function Stat(props: { label: string; value: string | undefined; hint?: ReactNode; href?: string }) {
  const { label, value, hint, href } = props;
  return (
    <Stack gap={2} className="panel" p="md" component="div" pos="relative">
      <Text component="dt" size="xs" c="dimmed">
        {href ? (
          <Anchor component={Link} href={href} size="xs" c="dimmed" className="card-link">
            {label}
          </Anchor>
        ) : (
          label
        )}
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
