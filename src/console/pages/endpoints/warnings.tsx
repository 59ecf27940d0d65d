import { ActionIcon, Popover, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import type { EndpointRow } from './rows.ts';

/** An endpoint's warnings, behind a button, because keyboard and touchscreen users can't hover. */
export function Warnings({ endpoint: { path, warnings } }: { endpoint: EndpointRow }) {
  return (
    <Popover width={320} withArrow shadow="md">
      <Popover.Target>
        <ActionIcon variant="subtle" color="orange" size="sm" miw={24} mih={24} aria-label={`Warning for ${path}`}>
          <IconAlertTriangle size={16} />
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown aria-label={`Warning for ${path}`}>
        {warnings.map((warning) => (
          <Text key={warning} size="sm">
            {warning}
          </Text>
        ))}
      </Popover.Dropdown>
    </Popover>
  );
}
