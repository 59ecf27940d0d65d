/** A time for a field of type `datetime-local`, in the browser's time zone. Empty if it isn't a time. */
export function toLocalTime(iso: string): string {
  const time = new Date(iso);
  if (Number.isNaN(time.getTime())) return '';
  const local = new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString();
  return local.slice(0, local.slice(17, 19) === '00' ? 16 : 19);
}

/** Converts the value of a `datetime-local` field to UTC. Empty if no time was entered. */
export function toUtc(local: string): string {
  const time = new Date(local);
  return Number.isNaN(time.getTime()) ? '' : time.toISOString();
}
