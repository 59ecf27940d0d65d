import { Badge, Stack, Text } from '@mantine/core';
import { formatTime } from './format.ts';

type Subscriber = {
  isActive: boolean;
  disabledReason?: string | null | undefined;
  pausedReason?: string | null | undefined;
  failingSince?: string | null | undefined;
  circuitOpenUntil?: string | null | undefined;
};
type State = { word: string; color: string; why?: string };

/** What the service's own reasons mean, and what to do. */
const REASONS: Readonly<Record<string, string>> = {
  gone: 'It answered 410 Gone, which says to stop. Switch it on when it is back.',
  failing: 'Nothing succeeded for five days. Mend the receiver, then switch it on.',
};

const SKIPPED = 'Its events are skipped, and are not delivered later by themselves.';

/** Whether a webhook or connector gets its events, and if not, why. */
export function SubscriberState({ subscriber }: { subscriber: Subscriber }) {
  const { word, color, why } = stateOf(subscriber);
  return (
    <Stack gap={2} align="flex-start">
      <Badge color={color}>{word}</Badge>
      {why && (
        <Text size="xs" c="dimmed" maw={320}>
          {why}
        </Text>
      )}
    </Stack>
  );
}

function stateOf(subscriber: Subscriber): State {
  const { isActive, disabledReason, pausedReason, failingSince, circuitOpenUntil } = subscriber;
  if (pausedReason) {
    return { word: 'Paused', color: 'orange', why: `${pausedReason} Deliveries are held until you save its config.` };
  }
  if (!isActive && disabledReason) {
    return { word: 'Disabled', color: 'red', why: `${REASONS[disabledReason] ?? disabledReason} ${SKIPPED}` };
  }
  if (!isActive) return { word: 'Off', color: 'gray', why: `Switched off by hand. ${SKIPPED}` };
  if (circuitOpenUntil) {
    const why = `It failed several times in a row. Deliveries wait until one arrives; the next is tried after ${formatTime(circuitOpenUntil)}.`;
    return { word: 'Down', color: 'red', why };
  }
  if (failingSince) {
    return { word: 'Failing', color: 'yellow', why: `Nothing has succeeded since ${formatTime(failingSince)}.` };
  }
  return { word: 'Active', color: 'teal' };
}
