import { Badge } from '@mantine/core';
import { formatEnum } from './format.ts';

const COLORS: Readonly<Record<string, string>> = {
  SUCCEEDED: 'teal',
  FAILED: 'red',
  RUNNING: 'blue',
  PENDING: 'orange',
  SKIPPED: 'gray',
};

/**
 * A delivery's status. A pending delivery without a due time is held, unless it waits for its turn. One with an earlier
 * attempt is being retried.
 */
export function DeliveryStatusBadge({ delivery }: { delivery: Delivery }) {
  const { status } = delivery;
  return (
    <Badge color={COLORS[status] ?? 'gray'}>{status === 'PENDING' ? pendingText(delivery) : formatEnum(status)}</Badge>
  );
}

type Delivery = { status: string; reason?: string | null; nextAttemptAt?: string | null; attemptCount: number };

function pendingText({ status, reason, nextAttemptAt, attemptCount }: Delivery): string {
  if (nextAttemptAt == null && reason != null && reason !== 'ordering') return 'Held';
  return attemptCount > 0 ? 'Retrying' : formatEnum(status);
}
