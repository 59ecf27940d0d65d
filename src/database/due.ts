/**
 * The SQL for "due by now". Stored times are rounded to milliseconds, so the time of a row that has just become due can
 * be slightly in the future.
 */
export const DUE = `now() + interval '1 millisecond'`;
