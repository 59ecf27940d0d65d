import { invalidField } from '../../errors.ts';

/**
 * Checks that the placeholders in an upstream URL's path (`:name`, a last `*`) are those of the endpoint's path: one that
 * nothing replaces would be sent as it is written.
 *
 * @throws AppError `VALIDATION_FAILED`
 */
export function checkPlaceholders(path: string, upstreamUrl: string): void {
  const known = new Set(path.split('/'));
  const unknown = new URL(upstreamUrl).pathname
    .split('/')
    .find((segment) => (segment === '*' || /^:[A-Za-z_]/.test(segment)) && !known.has(segment));
  if (unknown !== undefined) throw invalidField('/upstreamUrl', `Names "${unknown}", which the path does not have.`);
}
