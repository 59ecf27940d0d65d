import { MultiSelect, type MultiSelectProps } from '@mantine/core';
import { useQuery } from 'urql';
import { EventTypesDocument } from '../../generated/console/event-types.ts';
import { formatEventType } from './format.ts';

/** Selects event types by their names in the `EventType` enum. An empty selection means all. */
export function EventTypesField(props: Omit<MultiSelectProps, 'data'>) {
  const [{ data }] = useQuery({ query: EventTypesDocument });
  const names = data?.__type?.enumValues?.map(({ name }) => name) ?? [];
  return (
    <MultiSelect
      placeholder={props.value?.length ? '' : 'All event types'}
      clearable
      searchable
      data={names.map((name) => ({ value: name, label: formatEventType(name) }))}
      {...props}
    />
  );
}
