import { AppError } from '../../errors.ts';
import { PREFIX } from './public-address.ts';

/**
 * Splits a target (RFC 9112 §3.2.1, origin form) into the project and the rest, exactly as `written`, and with a leading
 * slash for routing.
 *
 * @throws AppError `BAD_REQUEST` if it isn't below the gateway's prefix.
 */
export function splitTarget(target: string): { projectId: string; rest: string; written: string } {
  if (!target.startsWith(PREFIX)) throw new AppError('BAD_REQUEST', { detail: 'The request target must be a path.' });
  const end = target.slice(PREFIX.length).search(/[/?]/);
  if (end < 0) return { projectId: ownCopyOf(target.slice(PREFIX.length)), rest: '/', written: '' };
  const written = target.slice(PREFIX.length + end);
  return {
    projectId: ownCopyOf(target.slice(PREFIX.length, PREFIX.length + end)),
    rest: written.startsWith('/') ? written : `/${written}`,
    written,
  };
}

/**
 * V8 doesn't copy parts of a text, but keeps the whole text in memory as long as a part of it is in use. Tables and caches
 * keep the ID for longer than the request, and count only the ID itself.
 */
function ownCopyOf(text: string): string {
  return Buffer.from(text).toString();
}
