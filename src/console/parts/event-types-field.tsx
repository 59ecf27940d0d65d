import { MultiSelect, type MultiSelectProps } from '@mantine/core';
import { useEnumValues } from './enum-values.ts';
import { formatEventType } from './format.ts';

/** Selects event types by their names in the `EventType` enum. An empty selection means all. */
export function EventTypesField(props: Omit<MultiSelectProps, 'data'>) {
  const names = useEnumValues('EventType');
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
