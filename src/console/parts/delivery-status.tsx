import { Badge } from '@mantine/core';
import { formatEnum } from './format.ts';

const COLORS: Readonly<Record<string, string>> = {
  SUCCEEDED: 'teal',
  FAILED: 'red',
  RUNNING: 'blue',
  PENDING: 'orange',
  SKIPPED: 'gray',
};

/** A delivery's status. `isRetrying` means that an earlier attempt failed. */
export function DeliveryStatusBadge({ status, isRetrying = false }: { status: string; isRetrying?: boolean }) {
  return (
    <Badge color={COLORS[status] ?? 'gray'}>
      {status === 'PENDING' && isRetrying ? 'Retrying' : formatEnum(status)}
    </Badge>
  );
}
