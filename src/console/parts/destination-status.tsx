import { Badge, Stack, Text } from '@mantine/core';
import { formatDay, formatTime } from './format.ts';

type Destination = {
  isActive: boolean;
  disabledReason?: string | null | undefined;
  isPaused: boolean;
  pausedReason?: string | null | undefined;
  /** When a connector's credentials are checked next. */
  nextProbeAt?: string | null | undefined;
  /** When a connector's service stops accepting its credential. */
  credentialExpiresAt?: string | null | undefined;
  failingSince?: string | null | undefined;
  circuitOpenUntil?: string | null | undefined;
};
type Status = { word: string; color: string; why?: string };

/** Why the service disabled a destination, and what to do about it. */
const REASONS: Readonly<Record<string, string>> = {
  gone: 'Disabled because the destination returned 410 Gone, which means that it no longer accepts events. Enable it to resume sending.',
  failing: 'Disabled after five days of failures. Fix the cause, then enable the destination again.',
};

/** The owner is warned this long before a credential expires. */
const CREDENTIAL_WARNING_MILLISECONDS = 60 * 24 * 60 * 60 * 1000;

const SKIPPED =
  'Events are skipped, not held. To send them, enable the destination, then replay the skipped deliveries.';

/** Whether a webhook or connector gets its events and, if not, why. */
export function DestinationStatusBadge({ destination }: { destination: Destination }) {
  const { word, color, why } = statusOf(destination);
  const warning = connectAgain(destination);
  return (
    <Stack gap={2} align="flex-start">
      <Badge color={color}>{word}</Badge>
      {why && (
        <Text size="xs" c="dimmed" maw={320}>
          {why}
        </Text>
      )}
      {warning && (
        <Text size="xs" fw={600} maw={320}>
          {warning}
        </Text>
      )}
    </Stack>
  );
}

/** Why deliveries are held, and what ends the pause. */
export function whyPaused({ pausedReason, nextProbeAt }: Pick<Destination, 'pausedReason' | 'nextProbeAt'>): string {
  if (!pausedReason) return 'Paused manually. Deliveries are held until you resume the destination.';
  const probed = nextProbeAt ? ` Tollgate will check the connector again at ${formatTime(nextProbeAt)}.` : '';
  return `${pausedReason} Deliveries are held until you update the settings or resume the destination.${probed}`;
}

/** What to do about a credential that expires soon; undefined if none does. */
export function connectAgain({ isActive, credentialExpiresAt }: Destination): string | undefined {
  if (!isActive || !credentialExpiresAt) return undefined;
  const millisecondsLeft = Date.parse(credentialExpiresAt) - Date.now();
  if (millisecondsLeft <= 0 || millisecondsLeft > CREDENTIAL_WARNING_MILLISECONDS) return undefined;
  return `Reconnect before ${formatDay(credentialExpiresAt)}, when the stored credential expires.`;
}

function statusOf(destination: Destination): Status {
  const { isActive, disabledReason, isPaused, failingSince, circuitOpenUntil } = destination;
  if (!isActive && disabledReason) {
    return { word: 'Disabled', color: 'red', why: `${REASONS[disabledReason] ?? disabledReason} ${SKIPPED}` };
  }
  if (!isActive) return { word: 'Disabled', color: 'gray', why: `Disabled manually. ${SKIPPED}` };
  if (isPaused) return { word: 'Paused', color: 'orange', why: whyPaused(destination) };
  if (circuitOpenUntil) {
    const why = `Deliveries are on hold after repeated failures. Next attempt after ${formatTime(circuitOpenUntil)}.`;
    return { word: 'Down', color: 'red', why };
  }
  if (failingSince) {
    return { word: 'Failing', color: 'yellow', why: `No successful delivery since ${formatTime(failingSince)}.` };
  }
  return { word: 'Active', color: 'teal' };
}
