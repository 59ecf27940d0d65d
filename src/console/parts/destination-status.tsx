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
  gone: 'Disabled because it returned 410 Gone, which means that it no longer wants events. Enable it to resume sending.',
  failing: 'Disabled after five days of failures. Fix the cause, then enable the destination again.',
};

/** How long before a credential ends the owner is warned. */
const CREDENTIAL_WARNING_MILLISECONDS = 60 * 24 * 60 * 60 * 1000;

const SKIPPED = 'Its events are skipped, not held. To send them, enable it, then replay the skipped deliveries.';

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
  if (!pausedReason) return 'Paused manually. Deliveries are held until you resume it.';
  const probed = nextProbeAt ? ` Tollgate will check it again at ${formatTime(nextProbeAt)}.` : '';
  return `${pausedReason} Deliveries are held until you save a fix or resume it.${probed}`;
}

/** What to do about a credential that ends soon, or undefined if there is time. */
export function connectAgain({ isActive, credentialExpiresAt }: Destination): string | undefined {
  if (!isActive || !credentialExpiresAt) return undefined;
  const millisecondsLeft = Date.parse(credentialExpiresAt) - Date.now();
  if (millisecondsLeft <= 0 || millisecondsLeft > CREDENTIAL_WARNING_MILLISECONDS) return undefined;
  return `Connect again before ${formatDay(credentialExpiresAt)}. The service ends the stored credential then.`;
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
