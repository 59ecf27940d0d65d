import { isUnsent } from '../../../egress/egress-error.ts';
import type { Attempt, Delivery } from '../../../generated/prisma/client.ts';
import { adviceOfStatus, ERROR_CLASS_SENTENCES, type Sentences, UNKNOWN_ERROR_CLASS } from './error-sentences.ts';

/** The webhook or connector of a delivery, as it stands now. */
export type DestinationState = {
  id: string;
  /** For sentences: `webhook`, or the title of the connector's type. */
  title: string;
  isActive: boolean;
  disabledReason: string | null;
  disabledAt: Date | null;
  pausedReason: string | null;
  pausedAt: Date | null;
  failingSince: Date | null;
  isSlowedDown: boolean;
};

export type DeliveryFacts = {
  delivery: Delivery;
  destination: DestinationState;
  lastAttempt: Attempt | null;
  /** By the clock of the database. */
  now: Date;
  retryScheduleSeconds: readonly number[];
};

export type RemainingTry = {
  /** Seconds after the failure before it, ±20 %; null for the one that is due next. */
  afterSeconds: number | null;
  /** If every try before it fails at once; null while the delivery is held. */
  expectedAt: Date | null;
};

/** Why what has not been tried yet is put off. */
const WAITS: Record<string, string> = {
  rate_limited: ', because its destination takes no more requests a second',
  circuit_open: ', because its destination has only failed lately',
};

type Row = {
  when: (facts: DeliveryFacts) => boolean;
  say: (facts: DeliveryFacts) => Sentences & { next: string };
};

const NOTHING_MORE = 'Nothing more happens by itself.';
const RESEND = 'Send it again by hand, or with a replay.';

/** What the stable reasons mean; others are sentences by themselves. */
const REASONS: Record<string, Sentences> = {
  exhausted: {
    summary: 'All tries of the schedule have failed, so it was given up.',
    advice: `Repair the receiver. ${RESEND}`,
  },
  gone: {
    summary: 'The receiver answered 410 Gone, so the webhook was disabled.',
    advice: `If that was a mistake, switch the webhook on again. ${RESEND}`,
  },
  disabled: {
    summary: 'It was not sent, because its destination was disabled.',
    advice: `Switch the destination on again. ${RESEND}`,
  },
  filtered: {
    summary: 'It was not sent, because the event does not pass the filter of its destination.',
    advice:
      'Nothing is wrong if that is what the filter is for. Otherwise change the filter, and send it again by hand.',
  },
  not_carried: {
    summary: 'It was not sent, because connectors of this type make no call for events of this kind.',
    advice: 'Nothing is wrong. Leave the kind out of the connector’s events if it should not show here.',
  },
  unknown_type: {
    summary: 'It was not sent, because this service no longer knows the type of the connector.',
    advice: 'Create a connector of another type.',
  },
};

/** Why a delivery waits without a time at which it is due. */
const HOLDS: Record<string, Sentences & { next: string }> = {
  ordering: {
    summary:
      'It waits for its turn: an earlier event of the same payment is not delivered yet, and the webhook keeps their order.',
    next: 'It is sent the moment that one is delivered, is given up, or has failed as often as the webhook lets it hold up others.',
    advice: 'See why the earlier one fails, or lower `orderingEscapeAfterAttempts` of the webhook.',
  },
};

/** The first row that fits is what is said. */
const ROWS: readonly Row[] = [
  {
    when: ({ delivery }) => delivery.status === 'SUCCEEDED',
    say: ({ delivery: { reason }, lastAttempt }) => ({
      summary: `It was delivered${answerOf(lastAttempt)}.${reason ? ` ${reason}` : ''}`,
      next: NOTHING_MORE,
      advice: null,
    }),
  },
  {
    when: ({ delivery }) => delivery.status === 'RUNNING' && delivery.leasedUntil !== null,
    say: ({ delivery: { leasedUntil }, now }) =>
      leasedUntil! > now
        ? { summary: 'It is being sent at this moment.', next: 'Its result comes within seconds.', advice: null }
        : {
            summary: 'The worker that was sending it has ended without a result.',
            next: 'Another worker takes it up within seconds and sends it again, under the same id.',
            advice: null,
          },
  },
  {
    when: ({ delivery }) => delivery.status === 'FAILED' || delivery.status === 'SKIPPED',
    say: ({ delivery: { reason, status }, lastAttempt }) => {
      const known = REASONS[reason ?? ''];
      const fallback = `It was ${status === 'FAILED' ? 'given up' : 'not sent'}${reason ? `: ${sentence(reason)}` : '.'}`;
      const last = status === 'FAILED' && lastAttempt ? failureOf(lastAttempt) : undefined;
      return {
        summary: [known?.summary ?? fallback, last && `Last, ${last.summary}`].filter(Boolean).join(' '),
        next: NOTHING_MORE,
        advice: [last?.advice, known?.advice ?? RESEND].filter(Boolean).join(' '),
      };
    },
  },
  {
    when: ({ destination }) => !destination.isActive,
    say: ({ destination }) => ({
      summary: `It waits, and its ${destination.title} is disabled${because(destination.disabledReason)}.`,
      next: 'It becomes skipped, with the reason `disabled`.',
      advice: `Switch the ${destination.title} on again. ${RESEND}`,
    }),
  },
  {
    when: ({ delivery }) => delivery.nextAttemptAt === null,
    say: ({ destination, delivery }) =>
      destination.pausedAt
        ? {
            summary: `It is held, because its ${destination.title} connector is paused: ${sentence(destination.pausedReason ?? '')}`,
            next: 'It is sent as soon as the config of the connector is replaced.',
            advice: 'Replace the credential in the config of the connector.',
          }
        : (HOLDS[delivery.reason ?? ''] ?? {
            summary: `It is held${because(delivery.reason)}.`,
            next: 'It is sent as soon as what holds it is gone; that is looked at every few seconds.',
            advice: null,
          }),
  },
  {
    when: ({ delivery }) => delivery.attemptCount === 0 || delivery.trigger === 'MANUAL',
    say: ({ delivery: { attemptCount, nextAttemptAt, reason }, now, destination }) => ({
      summary:
        attemptCount === 0 ? `It has not been sent yet${WAITS[reason ?? ''] ?? ''}.` : 'It was asked to be sent again.',
      next: isDue(nextAttemptAt!, now)
        ? `It is due, and sent as soon as a worker has room for it.${slowness(destination)}`
        : `It is sent ${at(nextAttemptAt!, now)}${reason ? '' : ', together with what else comes until then'}.`,
      advice: null,
    }),
  },
  {
    when: ({ lastAttempt }) => lastAttempt !== null,
    say: ({ delivery: { nextAttemptAt, errorClass }, lastAttempt, now, destination }) => {
      // An interrupted try has no record: it is known by the delivery alone.
      const attempt = errorClass === 'interrupted' ? { ...lastAttempt!, errorClass, statusCode: null } : lastAttempt!;
      const { summary, advice } = failureOf(attempt);
      const when = isDue(nextAttemptAt!, now) ? 'as soon as a worker has room for it' : at(nextAttemptAt!, now);
      return {
        summary: `The last try has failed: ${summary}`,
        next: `It is tried again ${when}.${slowness(destination)}`,
        advice,
      };
    },
  },
];

const OTHERWISE: Row['say'] = ({ delivery }) => ({
  summary: `It waits${because(delivery.reason)}.`,
  next: 'It is sent as soon as a worker has room for it.',
  advice: null,
});

/** Says in plain words why a delivery stands where it stands, what comes next, and what can be done about it. */
export function explainInWords(facts: DeliveryFacts): Sentences & { next: string } {
  return (ROWS.find(({ when }) => when(facts))?.say ?? OTHERWISE)(facts);
}

/** The tries that are left, if all of them fail; none for a delivery that is finished. */
export function remainingTries({ delivery, now, retryScheduleSeconds }: DeliveryFacts): RemainingTry[] {
  const { status, nextAttemptAt, retryStep } = delivery;
  if (status !== 'PENDING' && status !== 'RUNNING') return [];
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

/** What took the most time of an attempt. Without an answer, what no other phase explains was waiting for one. */
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

function failureOf({
  errorClass,
  errorMessage,
  statusCode,
}: Pick<Attempt, 'errorClass' | 'errorMessage' | 'statusCode'>) {
  const known = ERROR_CLASS_SENTENCES[errorClass ?? ''] ?? UNKNOWN_ERROR_CLASS;
  if (statusCode === null)
    return { ...known, summary: errorMessage && errorClass !== 'interrupted' ? sentence(errorMessage) : known.summary };
  return {
    summary: `the receiver answered ${statusCode}.${errorMessage ? ` ${sentence(errorMessage)}` : ''}`,
    advice: errorClass === 'http_status' ? adviceOfStatus(statusCode) : known.advice,
  };
}

function answerOf(attempt: Attempt | null): string {
  if (!attempt) return '';
  const { statusCode, durationMs, number } = attempt;
  return ` by attempt ${number}, which was answered with ${statusCode} after ${durationMs} ms`;
}

function slowness({ isSlowedDown }: DestinationState): string {
  return isSlowedDown
    ? ' Its destination has only failed lately, so that it is left alone for up to a minute at a time.'
    : '';
}

const isDue = (time: Date, now: Date) => time.getTime() <= now.getTime() + 1_000;
const because = (reason: string | null) => (reason ? `: ${reason.replace(/\.$/, '')}` : '');
const sentence = (text: string) => (/[.!?]$/.test(text) ? text : `${text}.`);

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
