import { Button, Group, Text } from '@mantine/core';
import { IconRefresh } from '@tabler/icons-react';
import { formatCount } from '../../parts/format.ts';
import { ActionForRole } from '../../parts/role.tsx';

/** The maximum number of delivery IDs that one replay can list. */
const MAX_SELECTED = 100;

/** The actions for the selected deliveries. */
export function SelectionBar({ count, onResend, onClear }: { count: number; onResend(): void; onClear(): void }) {
  if (count === 0) return null;
  const isTooMany = count > MAX_SELECTED;
  return (
    <Group gap="sm" px="md" pb="sm" component="section" aria-label="Selected deliveries">
      <Text size="sm" role="status">
        {formatCount(count)} selected
        {isTooMany && `. You can resend up to ${MAX_SELECTED} at a time. For more, use “Replay deliveries”.`}
      </Text>
      <ActionForRole lowest="DEVELOPER">
        <Button size="compact-sm" leftSection={<IconRefresh size={14} />} disabled={isTooMany} onClick={onResend}>
          Resend selected
        </Button>
      </ActionForRole>
      <Button size="compact-sm" variant="subtle" onClick={onClear}>
        Clear selection
      </Button>
    </Group>
  );
}
