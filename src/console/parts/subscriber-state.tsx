import { Badge, Tooltip } from '@mantine/core';
import { formatTime } from './format.ts';

type Subscriber = {
  isActive: boolean;
  disabledReason?: string | null | undefined;
  pausedReason?: string | null | undefined;
  failingSince?: string | null | undefined;
};

/** What the service's own reasons mean, and what to do. */
const REASONS: Readonly<Record<string, string>> = {
  gone: 'It answered 410 Gone, which says to stop. Switch it on when it is back.',
  failing: 'Nothing succeeded for five days. Mend the receiver, then switch it on.',
};

/** Whether a webhook or connector gets its events, and if not, why. */
export function SubscriberState({ subscriber }: { subscriber: Subscriber }) {
  const { isActive, disabledReason, pausedReason, failingSince } = subscriber;
  if (pausedReason) {
    return (
      <Tooltip label={`${pausedReason} Deliveries are held until its config changes.`} multiline maw={340}>
        <Badge color="orange" tabIndex={0}>
          Paused
        </Badge>
      </Tooltip>
    );
  }
  if (!isActive) {
    const label = disabledReason ? (REASONS[disabledReason] ?? disabledReason) : 'Switched off by hand.';
    return (
      <Tooltip label={label} multiline maw={340}>
        <Badge color={disabledReason ? 'red' : 'gray'} tabIndex={0}>
          {disabledReason ? 'Disabled' : 'Off'}
        </Badge>
      </Tooltip>
    );
  }
  if (failingSince) {
    return (
      <Tooltip label={`Nothing has succeeded since ${formatTime(failingSince)}.`}>
        <Badge color="yellow" tabIndex={0}>
          Failing
        </Badge>
      </Tooltip>
    );
  }
  return <Badge color="teal">Active</Badge>;
}
