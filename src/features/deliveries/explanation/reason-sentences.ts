import type { Sentences } from './error-sentences.ts';

/** What to do after the cause is fixed. */
export const RESEND = 'Then resend the delivery, or start a replay.';

const UNSUPPORTED: Sentences = {
  summary: 'The event was not sent because this type of connector does not support this event type.',
  advice: 'Nothing is wrong. To hide these deliveries, remove the event type from the connector’s events.',
};

/** What the stable reason codes mean. Any other reason is already a sentence. */
export const REASONS: Record<string, Sentences> = {
  exhausted: {
    summary: 'Every scheduled retry failed, so the delivery was marked as failed.',
    advice: `Fix the destination. ${RESEND}`,
  },
  gone: {
    summary: 'The destination returned 410 Gone, so the webhook was disabled.',
    advice: `If that was a mistake, enable the webhook. ${RESEND}`,
  },
  disabled: {
    summary: 'The event was not sent because the destination was disabled.',
    advice: `Enable the destination. ${RESEND}`,
  },
  restored: {
    summary:
      'The event was not sent because the operator restored a backup and skipped the deliveries that were waiting in it.',
    advice:
      'It may have been sent before the restore. If the destination does not have it, resend the delivery, or start a replay.',
  },
  filtered: {
    summary: "The event was not sent because it does not match the destination's filter.",
    advice: 'If that is not what you want, change the filter and resend the delivery.',
  },
  unsupported_event: UNSUPPORTED,
  // The previous version's processes record this code.
  not_carried: UNSUPPORTED,
  unknown_type: {
    summary: 'The event was not sent because this type of connector is no longer supported.',
    advice: 'Create a connector of a different type.',
  },
};

/** The sentence for `exhausted` if the webhook has no retries. */
export const UNRETRIED: Sentences = {
  summary: 'The attempt failed, and the webhook has no retries, so the delivery was marked as failed.',
  advice: `Fix the destination, or choose another \`retrySchedule\` for the webhook. ${RESEND}`,
};
