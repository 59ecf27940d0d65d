import { Alert } from '@mantine/core';
import { IconHistory } from '@tabler/icons-react';
import { formatCount } from '../../parts/format.ts';

/**
 * How many deliveries a replay would resend, and what happens then. `none` tells the user what to do if there aren't
 * any.
 */
export function Counted({ total, maxPerSecond, none }: { total: number; maxPerSecond: number; none: string }) {
  if (total === 0) {
    return (
      <Alert color="gray" role="status" icon={<IconHistory size={18} />} title="No matching deliveries">
        {none}
      </Alert>
    );
  }
  const seconds = Math.ceil(total / maxPerSecond);
  return (
    <Alert
      color="orange"
      role="status"
      icon={<IconHistory size={18} />}
      title={`${countDeliveries(total)} ${total === 1 ? 'matches' : 'match'}`}
    >
      Each delivery goes to its original destination again with the same webhook-id. This takes at least{' '}
      {seconds === 1 ? 'a second' : `${formatCount(seconds)} seconds`}. Destinations that don’t deduplicate by
      webhook-id will process the events twice.
    </Alert>
  );
}

export function countDeliveries(total: number): string {
  return `${formatCount(total)} ${total === 1 ? 'delivery' : 'deliveries'}`;
}
