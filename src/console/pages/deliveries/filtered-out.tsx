import { Text } from '@mantine/core';
import { useQuery } from 'urql';
import { FilteredOutDocument } from '../../../generated/console/deliveries.ts';
import { formatCount } from '../../parts/format.ts';

/**
 * How many events a destination's filter excluded in the last 30 days. These events have no delivery, so they aren't in
 * the list.
 */
export function FilteredOut({ projectId, destinationId }: { projectId: string; destinationId: string }) {
  const [{ data }] = useQuery({
    query: FilteredOutDocument,
    variables: { projectId },
    requestPolicy: 'cache-and-network',
  });
  const counts = data?.project?.deliveryStats.filteredOut ?? [];
  const { count = 0 } = counts.find((entry) => entry.destinationId === destinationId) ?? {};
  if (count === 0) return null;
  return (
    <Text size="sm" c="dimmed">
      Filtered out in the last 30 days: {formatCount(count)} {count === 1 ? 'event' : 'events'}. Filtered-out events
      aren’t in this list.
    </Text>
  );
}
