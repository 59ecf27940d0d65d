import { NumberInput, Textarea } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import type { DestinationValues } from './destination-values.ts';
import { EventTypesField } from './event-types-field.tsx';

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
        description="Send only events that match. The rest appear as skipped."
        placeholder={'{"data.amountUsd": {"gte": "1.00"}}'}
        autosize
        minRows={1}
        spellCheck={false}
        {...form.getInputProps('filter')}
      />
      <NumberInput
        label="Rate limit (requests per second)"
        description="Leave empty for no limit. Deliveries over the limit wait; waiting doesn’t count as a retry."
        placeholder="No limit"
        min={1}
        max={MAX_PER_SECOND}
        clampBehavior="none"
        allowDecimal={false}
        {...form.getInputProps('maxPerSecond')}
      />
    </>
  );
}
