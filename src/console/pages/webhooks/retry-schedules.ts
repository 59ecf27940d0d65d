import type { RetrySchedule } from '../../../generated/console/webhooks.ts';

/** The retry schedules as they appear in the form, with their total durations. */
export const RETRY_SCHEDULES: readonly { value: RetrySchedule; label: string }[] = [
  { value: 'STANDARD', label: 'Standard: 9 retries in about 3 days' },
  { value: 'SHORT', label: 'Short: 6 retries in about an hour' },
  { value: 'LONG', label: 'Long: 13 retries in about a week' },
  { value: 'NONE', label: 'None: a single attempt' },
];
