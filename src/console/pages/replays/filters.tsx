import { Group, MultiSelect, Select } from '@mantine/core';
import { useSearchParams } from 'wouter';
import type { EventType, DeliveryStatus as Status } from '../../../generated/console/deliveries.ts';
import type { Destination } from '../../parts/destinations.ts';
import { EVENT_TYPES, formatEnum, formatEventType } from '../../parts/format.ts';

export const STATUSES: readonly Status[] = ['PENDING', 'RUNNING', 'SUCCEEDED', 'FAILED', 'SKIPPED'];

/** The delivery list's filters. An empty filter matches everything. */
export type DeliveryFilters = { status: Status[]; eventTypes: EventType[]; destinationId: string | null };

/** Keeps the filters in the page's URL so that you can link to a filtered list. */
export function useDeliveryFilters(): [DeliveryFilters, (changed: Partial<DeliveryFilters>) => void] {
  const [search, setSearch] = useSearchParams();
  const filters: DeliveryFilters = {
    status: STATUSES.filter((status) => search.getAll('status').includes(status)),
    eventTypes: EVENT_TYPES.filter((type) => search.getAll('type').includes(type)),
    destinationId: search.get('destination'),
  };
  return [
    filters,
    (changed) => {
      const { status, eventTypes, destinationId } = { ...filters, ...changed };
      setSearch([
        ...status.map((value) => ['status', value] as [string, string]),
        ...eventTypes.map((value) => ['type', value] as [string, string]),
        ...(destinationId === null ? [] : [['destination', destinationId] as [string, string]]),
      ]);
    },
  ];
}

export function DeliveryFilterBar(props: {
  filters: DeliveryFilters;
  destinations: ReadonlyMap<string, Destination>;
  onChange(changed: Partial<DeliveryFilters>): void;
}) {
  const { filters, destinations, onChange } = props;
  return (
    <Group gap="sm" role="search" aria-label="Filter deliveries">
      <MultiSelect
        aria-label="Status"
        placeholder={filters.status.length === 0 ? 'All statuses' : ''}
        data={STATUSES.map((value) => ({ value, label: formatEnum(value) }))}
        value={filters.status}
        onChange={(values) => onChange({ status: values as Status[] })}
        w={240}
        size="xs"
        clearable
      />
      <MultiSelect
        aria-label="Event type"
        placeholder={filters.eventTypes.length === 0 ? 'All event types' : ''}
        data={EVENT_TYPES.map((value) => ({ value, label: formatEventType(value) }))}
        value={filters.eventTypes}
        onChange={(values) => onChange({ eventTypes: values as EventType[] })}
        w={280}
        size="xs"
        clearable
      />
      <Select
        aria-label="Destination"
        placeholder="All destinations"
        data={[...destinations.values()].map(({ id, name }) => ({ value: id, label: name }))}
        value={filters.destinationId}
        onChange={(destinationId) => onChange({ destinationId })}
        w={260}
        size="xs"
        clearable
        searchable
      />
    </Group>
  );
}
