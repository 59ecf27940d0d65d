import { Stack, Text, Title } from '@mantine/core';
import type { OneDeliveryQuery } from '../../../generated/console/deliveries.ts';
import { Command } from '../../parts/command.tsx';
import { formatTimesIn } from '../../parts/format.ts';

type Delivery = NonNullable<NonNullable<OneDeliveryQuery['project']>['delivery']>;

/** What happened, what happens next, and what the user can do. */
export function Explanation({ explanation: { summary, next, advice, curl } }: Pick<Delivery, 'explanation'>) {
  return (
    <Stack gap={6} component="section" aria-label="Explanation">
      <Title order={3}>What happened</Title>
      <Text size="sm">{formatTimesIn(summary)}</Text>
      <Text size="sm">{formatTimesIn(next)}</Text>
      {advice && (
        <Text size="sm" fw={500}>
          {advice}
        </Text>
      )}
      {curl && (
        <details>
          <summary>Send this request with curl</summary>
          <Command>{curl}</Command>
        </details>
      )}
    </Stack>
  );
}
