import { NumberInput, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import type { DestinationValues } from './destination-values.ts';
import { EventTypesField } from './event-types-field.tsx';
import { FilterField } from './filter-builder/filter-field.tsx';

const MIN_PER_SECOND = 0.01;
const MAX_PER_SECOND = 1_000;
const MAX_NAME_LENGTH = 60;

/** The name of a webhook or connector. `fallback` is what the console shows without one. */
export function DestinationName<Values extends DestinationValues>(props: {
  form: UseFormReturnType<Values>;
  fallback: string;
}) {
  const { form, fallback } = props;
  return (
    <TextInput
      label="Name"
      description="Optional. Shown in lists, deliveries, and notices, so that you can tell your destinations apart."
      placeholder={fallback}
      maxLength={MAX_NAME_LENGTH}
      autoComplete="off"
      {...form.getInputProps('name')}
    />
  );
}

/** The fields that both forms share: which events a webhook or connector gets, and how fast. */
export function DestinationFields<Values extends DestinationValues>({ form }: { form: UseFormReturnType<Values> }) {
  const { filter, eventTypes } = form.getValues();
  const isOfFilter = ([name]: [string, unknown]) => name === 'filter' || name.startsWith('filter.');
  const filterErrors = Object.entries(form.errors).filter(isOfFilter);
  function changeFilter(text: string): void {
    form.getInputProps('filter').onChange(text);
    // The service's messages refer to conditions in the previous filter.
    form.setErrors(Object.fromEntries(Object.entries(form.errors).filter((entry) => !isOfFilter(entry))));
  }
  return (
    <>
      <EventTypesField
        label="Events"
        description="Leave empty for all events, including types added later."
        {...form.getInputProps('eventTypes')}
      />
      <FilterField
        value={filter}
        onChange={changeFilter}
        error={filterErrors.map(([, message]) => String(message)).join(' ') || undefined}
        eventTypes={eventTypes}
      />
      <NumberInput
        label="Rate limit (requests per second)"
        description="For example, 0.5. Leave empty for no limit. Deliveries over the limit wait, which doesn’t count as a retry."
        placeholder="No limit"
        min={MIN_PER_SECOND}
        max={MAX_PER_SECOND}
        clampBehavior="none"
        decimalScale={2}
        {...form.getInputProps('maxPerSecond')}
      />
    </>
  );
}
