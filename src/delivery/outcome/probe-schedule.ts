const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * The delays in seconds before a connector's credentials are probed: after it was paused, and after each failed probe.
 * The whole schedule takes about 30 days.
 */
export const PROBE_SCHEDULE_SECONDS: readonly number[] = [
  5 * MINUTE,
  15 * MINUTE,
  HOUR,
  6 * HOUR,
  ...Array.from({ length: 29 }, () => DAY),
];

/**
 * The time of the next probe in SQL, or null if the schedule has ended.
 *
 * @param schedule the parameter with the schedule.
 * @param probes the number of probes so far.
 */
export const nextProbeAt = (schedule: string, probes: string) =>
  `now() + make_interval(secs => (${schedule}::float8[])[${probes} + 1])`;
