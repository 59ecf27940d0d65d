import { Textarea } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { EventTypesField } from './event-types-field.tsx';
import type { SubscriptionValues } from './subscription.ts';

/** Which events a subscriber gets: by kind and by contents. */
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
    </>
  );
}
