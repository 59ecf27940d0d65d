import { NumberInput, Textarea } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { EventTypesField } from './event-types-field.tsx';
import type { SubscriptionValues } from './subscription.ts';

const MAX_PER_SECOND = 1_000;

/** Which events a subscriber gets, by kind and by contents, and how fast. */
export function SubscriptionFields<Values extends SubscriptionValues>({ form }: { form: UseFormReturnType<Values> }) {
  return (
    <>
      <EventTypesField
        label="Events"
        description="Kinds to send. None chosen: all, also those to come."
        {...form.getInputProps('eventTypes')}
      />
      <Textarea
        label="Filter"
        description="Sends only events with these contents. What does not match stays in the history as skipped."
        placeholder={'{"data.amountUsd": {"gte": "1.00"}}'}
        autosize
        minRows={1}
        spellCheck={false}
        {...form.getInputProps('filter')}
      />
      <NumberInput
        label="Requests a second, at most"
        description="Empty: no limit. What is more waits, and uses up no retries."
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
