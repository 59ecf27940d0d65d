import { Group, Text } from '@mantine/core';
import { IconFlask } from '@tabler/icons-react';

/** Marks every page of a test project, so that nobody mistakes it for a live one. */
export function TestBar() {
  return (
    <Group className="test-bar" gap={8} px="md" py={8} role="note" aria-label="Test project" wrap="nowrap">
      <IconFlask size={18} aria-hidden />
      <Text fz="sm" fw={600}>
        Test project: payments use test money
      </Text>
    </Group>
  );
}
