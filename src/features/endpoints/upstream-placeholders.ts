import { invalidField } from '../../errors.ts';

/**
 * Checks that every placeholder in the upstream URL's path (`:name` or `*`) is also in the endpoint's path. Otherwise,
 * it would be sent literally.
 *
 * @throws AppError `VALIDATION_FAILED`
 */
export function checkPlaceholders(path: string, upstreamUrl: string): void {
  const known = new Set(path.split('/'));
  const unknown = new URL(upstreamUrl).pathname
    .split('/')
    .find((segment) => (segment === '*' || /^:[A-Za-z_]/.test(segment)) && !known.has(segment));
  if (unknown !== undefined)
    throw invalidField('/upstreamUrl', `Contains "${unknown}", which is not in the endpoint’s path.`);
}
