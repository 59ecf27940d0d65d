import { Group, Text } from '@mantine/core';

export function Logo() {
  return (
    <Group gap={8} wrap="nowrap">
      <img src="/console/favicon.svg" alt="" width={24} height={24} />
      <Text fw={650} fz="lg">
        Tollgate
      </Text>
    </Group>
  );
}
