import { isUntilResent } from '../../../delivery/queue/held.ts';
import { isUnsent } from '../../../egress/egress-error.ts';
import type { Attempt, Delivery } from '../../../generated/prisma/client.ts';
import {
  adviceForConnector,
  adviceOfStatus,
  ERROR_CLASS_SENTENCES,
  type Sentences,
  UNKNOWN_ERROR_CLASS,
} from './error-sentences.ts';
import { REASONS, RESEND, UNRETRIED } from './reason-sentences.ts';

/** The current status of a delivery's webhook or connector. */
export type DestinationState = {
  id: string;
  /** `webhook`, or the title of the connector's type. Used in sentences. */
  title: string;
  /** Advice for failures, if the destination is a connector whose type has its own advice. */
  advice?: Readonly<Partial<Record<string, string>>> | undefined;
  isActive: boolean;
  disabledReason: string | null;
  disabledAt: Date | null;
  pausedReason: string | null;
  pausedAt: Date | null;
  /** When the service will next check the credentials of a connector that it paused. */
  nextProbeAt: Date | null;
  failingSince: Date | null;
  isSlowedDown: boolean;
};

export type DeliveryFacts = {
  delivery: Delivery;
  destination: DestinationState;
  lastAttempt: Attempt | null;
  /** The database's time. */
  now: Date;
  retryScheduleSeconds: readonly number[];
};

export type RemainingTry = {
  /** Seconds after the previous failure, ±20%; null for the next attempt. */
  afterSeconds: number | null;
  /** Assumes that every earlier attempt fails immediately. Null while the delivery is held. */
  expectedAt: Date | null;
};

/** Why a delivery that hasn't been attempted yet has to wait. */
const WAITS: Record<string, string> = {
  rate_limited: ', because the destination has reached its rate limit',
  circuit_open: ', because the destination has been failing',
  address_blocked: ", because its service is blocking requests from Tollgate's IP address",
};

type Row = {
  when: (facts: DeliveryFacts) => boolean;
  say: (facts: DeliveryFacts) => Sentences & { next: string };
};

const NOTHING_MORE = 'No further automatic retries.';
/** Why a delivery is held without a due time. */
const HOLDS: Record<string, Sentences & { next: string }> = {
  ordering: {
    summary:
      'The delivery is waiting its turn: the webhook keeps events in order, and an earlier event for the same payment has not been delivered yet.',
    next: 'It will be sent as soon as the earlier delivery succeeds, fails permanently, or has failed so many times that the webhook skips ahead.',
    advice: "Check why the earlier delivery is failing, or lower the webhook's `orderingEscapeAfterAttempts`.",
  },
};

/** The first row that matches is used. */
const ROWS: readonly Row[] = [
  {
    when: ({ delivery }) => delivery.status === 'SUCCEEDED',
    say: ({ delivery: { reason }, lastAttempt, destination }) => ({
      summary: `The event was delivered${responseOf(lastAttempt, destination)}.${reason ? ` ${reason}` : ''}`,
      next: NOTHING_MORE,
      advice: null,
    }),
  },
  {
    when: ({ delivery }) => delivery.status === 'RUNNING' && delivery.leasedUntil !== null,
    say: ({ delivery: { leasedUntil }, now }) =>
      leasedUntil! > now
        ? {
            summary: 'The event is being sent right now.',
            next: 'The result will be available within seconds.',
            advice: null,
          }
        : {
            summary: 'The worker that was sending the event stopped before recording a result.',
            next: 'Another worker will send it again within seconds, with the same ID.',
            advice: null,
          },
  },
  {
    when: ({ delivery }) => delivery.status === 'FAILED' || delivery.status === 'SKIPPED',
    say: ({ delivery: { reason, status }, lastAttempt, destination, retryScheduleSeconds }) => {
      const isUnretried = reason === 'exhausted' && retryScheduleSeconds.length === 0;
      const known = isUnretried ? UNRETRIED : REASONS[reason ?? ''];
      const fallback = `The ${status === 'FAILED' ? 'delivery failed' : 'event was not sent'}${reason ? `: ${sentence(reason)}` : '.'}`;
      const last = status === 'FAILED' && lastAttempt ? failureOf(lastAttempt, destination) : undefined;
      // A rejected delivery has the reason of its last attempt.
      const isSame = reason !== null && reason === lastAttempt?.errorMessage;
      return {
        summary: [known?.summary ?? fallback, last && !isSame && `Last attempt: ${last.summary}`]
          .filter(Boolean)
          .join(' '),
        next: NOTHING_MORE,
        advice: [last?.advice, known?.advice ?? RESEND].filter(Boolean).join(' '),
      };
    },
  },
  {
    when: ({ destination }) => !destination.isActive,
    say: ({ destination }) => ({
      summary: `The delivery is waiting, but its ${destination.title} is disabled${because(destination.disabledReason)}.`,
      next: 'It will be skipped, with the reason `disabled`.',
      advice: `Enable the ${destination.title}. ${RESEND}`,
    }),
  },
  {
    when: ({ delivery }) => isUntilResent(delivery),
    say: ({ destination, delivery }) => ({
      summary: `${destination.title} doesn’t accept this event as it is: ${sentence(delivery.reason!)}`,
      next: 'The delivery is held until you resend it. Other deliveries are still sent.',
      advice: `Fix the cause in ${destination.title}. ${RESEND}`,
    }),
  },
  {
    when: ({ delivery }) => delivery.nextAttemptAt === null,
    say: ({ destination, delivery }) =>
      destination.pausedAt
        ? heldBy(destination)
        : (HOLDS[delivery.reason ?? ''] ?? {
            summary: `The delivery is held${because(delivery.reason)}.`,
            next: 'It will be sent once it is no longer held. This is checked every few seconds.',
            advice: null,
          }),
  },
  {
    when: ({ delivery }) => delivery.attemptCount === 0 || delivery.trigger === 'MANUAL',
    say: ({ delivery, delivery: { attemptCount, nextAttemptAt, reason }, now, destination }) => ({
      summary:
        attemptCount === 0
          ? `The event has not been sent yet${WAITS[reason ?? ''] ?? ''}.`
          : 'The delivery was resent manually.',
      next: isDue(nextAttemptAt!, now)
        ? `It is due and will be sent ${whenThereIsCapacity(delivery)}.${slowness(destination)}`
        : `It will be sent ${at(nextAttemptAt!, now)}${reason ? '' : ', batched with other events'}.`,
      advice: null,
    }),
  },
  {
    when: ({ lastAttempt }) => lastAttempt !== null,
    say: ({ delivery, delivery: { nextAttemptAt, errorClass }, lastAttempt, now, destination }) => {
      // An interrupted attempt has no row of its own. Only the delivery's row shows it.
      const attempt = errorClass === 'interrupted' ? { ...lastAttempt!, errorClass, statusCode: null } : lastAttempt!;
      const { summary, advice } = failureOf(attempt, destination);
      const when = isDue(nextAttemptAt!, now) ? whenThereIsCapacity(delivery) : at(nextAttemptAt!, now);
      return {
        summary: `The last attempt failed: ${summary}`,
        next: `It will be retried ${when}.${slowness(destination)}`,
        advice,
      };
    },
  },
];

/** Why a paused destination's delivery isn't sent. If no reason is stored, the owner paused the destination. */
function heldBy({ id, title, pausedReason, nextProbeAt }: DestinationState): Sentences & { next: string } {
  const name = isConnector({ id }) ? `${title} connector` : title;
  if (pausedReason === null) {
    return {
      summary: `The delivery is held because you paused its ${name}.`,
      next: `It will be sent as soon as the ${name} is resumed.`,
      advice: 'To resume it, set `isPaused` to false.',
    };
  }
  const [saved, advice] = isConnector({ id })
    ? ["the connector's config", `Fix the cause in ${title} or in the connector's config.`]
    : ["the webhook's `authentication`", "Fix the cause, then save the webhook's `authentication`."];
  const probed = nextProbeAt
    ? ` Tollgate will check the connector again at ${nextProbeAt.toISOString()}, and resume it if the check succeeds.`
    : '';
  return {
    summary: `The delivery is held because its ${name} is paused: ${sentence(pausedReason)}`,
    next: `It will be sent as soon as you save ${saved}, or set \`isPaused\` to false.${probed}`,
    advice,
  };
}

const OTHERWISE: Row['say'] = ({ delivery }) => ({
  summary: `The delivery is waiting${because(delivery.reason)}.`,
  next: 'It will be sent as soon as a worker is free.',
  advice: null,
});

/** What a due delivery is waiting for. */
const whenThereIsCapacity = ({ isParked }: Delivery) =>
  isParked
    ? 'as soon as capacity is available. Right now, the destination, its server, or your account is at its limit for concurrent deliveries, or a rate limit has been reached'
    : 'as soon as a worker is free';

/** Explains the reason for a delivery's status, what happens next, and what the seller can do, in plain language. */
export function explainInWords(facts: DeliveryFacts): Sentences & { next: string } {
  return (ROWS.find(({ when }) => when(facts))?.say ?? OTHERWISE)(facts);
}

/** The remaining attempts, assuming they all fail. A delivery that is finished or held until it is resent has none. */
export function remainingTries({ delivery, now, retryScheduleSeconds }: DeliveryFacts): RemainingTry[] {
  const { status, nextAttemptAt, retryStep } = delivery;
  if ((status !== 'PENDING' && status !== 'RUNNING') || isUntilResent(delivery)) return [];
  const isHeld = status === 'PENDING' && nextAttemptAt === null;
  const first = status === 'RUNNING' || !nextAttemptAt || nextAttemptAt < now ? now : nextAttemptAt;
  let milliseconds = first.getTime();
  const later = retryScheduleSeconds.slice(retryStep).map((afterSeconds) => {
    milliseconds += afterSeconds * 1000;
    return { afterSeconds, expectedAt: isHeld ? null : new Date(milliseconds) };
  });
  return status === 'RUNNING' ? later : [{ afterSeconds: null, expectedAt: isHeld ? null : first }, ...later];
}

export const DELIVERY_PHASES = ['dns', 'connect', 'tls', 'first_byte', 'other'] as const;
export type DeliveryPhase = (typeof DELIVERY_PHASES)[number];

/** The phase of an attempt that took the longest. If no response arrived, the remaining time was spent waiting. */
export function slowestPhase(attempt: Attempt): { phase: DeliveryPhase; milliseconds: number } {
  const { durationMs, dnsMs, connectMs, tlsMs, firstByteMs, statusCode, errorClass } = attempt;
  const known = { dns: dnsMs ?? 0, connect: connectMs ?? 0, tls: tlsMs ?? 0, first_byte: firstByteMs ?? 0 };
  const rest = Math.max(0, durationMs - Object.values(known).reduce((sum, milliseconds) => sum + milliseconds, 0));
  const isWaiting = statusCode === null && firstByteMs === null && !isUnsent(errorClass ?? '');
  const times: Record<DeliveryPhase, number> = isWaiting
    ? { ...known, first_byte: rest, other: 0 }
    : { ...known, other: rest };
  return DELIVERY_PHASES.map((phase) => ({ phase, milliseconds: times[phase] })).reduce((slowest, one) =>
    one.milliseconds > slowest.milliseconds ? one : slowest,
  );
}

function failureOf(
  { errorClass, errorMessage, statusCode }: Pick<Attempt, 'errorClass' | 'errorMessage' | 'statusCode'>,
  destination: DestinationState,
): Sentences {
  const known = ERROR_CLASS_SENTENCES[errorClass ?? ''] ?? UNKNOWN_ERROR_CLASS;
  const message = errorMessage && errorClass !== 'interrupted' ? sentence(errorMessage) : undefined;
  if (isConnector(destination)) {
    const returned = statusCode === null ? known.summary : `${destination.title} returned ${statusCode}.`;
    return { summary: message ?? returned, advice: adviceForConnector(destination, { statusCode, errorClass }) };
  }
  if (statusCode === null) return { ...known, summary: message ?? known.summary };
  return {
    summary: `the destination returned ${statusCode}.${message ? ` ${message}` : ''}`,
    advice: errorClass === 'http_status' ? adviceOfStatus(statusCode) : known.advice,
  };
}

function responseOf(attempt: Attempt | null, destination: DestinationState): string {
  if (!attempt) return '';
  const { statusCode, durationMs, number } = attempt;
  const who = isConnector(destination) ? destination.title : 'The destination';
  return ` on attempt ${number}. ${who} returned ${statusCode} after ${durationMs} ms`;
}

const isConnector = ({ id }: Pick<DestinationState, 'id'>) => id.startsWith('con_');

function slowness({ isSlowedDown }: DestinationState): string {
  return isSlowedDown ? ' The destination has been failing, so attempts are spaced up to a minute apart.' : '';
}

const isDue = (time: Date, now: Date) => time.getTime() <= now.getTime() + 1_000;
const because = (reason: string | null) => (reason ? `: ${reason.replace(/\.$/, '')}` : '');
const sentence = (text: string) => (/[.!?…]$/.test(text) ? text : `${text}.`);

const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

function at(time: Date, now: Date): string {
  const seconds = Math.max(1, Math.round((time.getTime() - now.getTime()) / 1000));
  const [unit, size] = UNITS.find(([, length]) => seconds >= length)!;
  const count = Math.round(seconds / size);
  return `in about ${count} ${unit}${count === 1 ? '' : 's'}, at ${time.toISOString()}`;
}
