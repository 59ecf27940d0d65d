import { NumberInput, Textarea } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import type { DestinationValues } from './destination-values.ts';
import { EventTypesField } from './event-types-field.tsx';

const MIN_PER_SECOND = 0.01;
const MAX_PER_SECOND = 1_000;

/** The fields that both forms share: which events a webhook or connector gets, and how fast. */
export function DestinationFields<Values extends DestinationValues>({ form }: { form: UseFormReturnType<Values> }) {
  return (
    <>
      <EventTypesField
        label="Events"
        description="Leave empty for all events, including types added later."
        {...form.getInputProps('eventTypes')}
      />
      <Textarea
        label="Filter"
        description="Send only events that match. Other events get no delivery, but they are counted."
        placeholder={'{"data.amountUsd": {"gte": "1.00"}}'}
        autosize
        minRows={1}
        spellCheck={false}
        {...form.getInputProps('filter')}
      />
      <NumberInput
        label="Rate limit (requests per second)"
        description="For example, 0.5. Leave empty for no limit. Deliveries over the limit wait; waiting doesn’t count as a retry."
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
