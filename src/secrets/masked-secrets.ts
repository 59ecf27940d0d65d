import { type FieldError, invalidField } from '../errors.ts';
import { MASK } from './mask.ts';

/** Whether this is a masked secret that a form sent back unchanged. */
export function isShown(shown: unknown, value: unknown): boolean {
  return shown === value && isMasked(shown);
}

/**
 * If a masked value replaced the secret, nobody would notice until requests failed.
 *
 * @throws AppError `VALIDATION_FAILED` if the value is masked.
 */
export function refuseMasked(pointer: string, value: unknown): void {
  if (isMasked(value)) throw invalidField(pointer, 'This is a masked secret. Send the full secret.');
}

/** The error for a request that changes the address that a secret is sent to, but doesn't include the secret again. */
export function neededAgain(pointer: string, addressTitles: string): FieldError {
  const message = `Send this secret again in full: you are changing where it is sent (${addressTitles}).`;
  return { pointer, message };
}

export function isMasked(value: unknown): boolean {
  return typeof value === 'string' && value.startsWith(MASK);
}

/** A pattern for text that matches another pattern or is a mask that is sent back, as in JSON Schema. */
export function orMasked({ source }: RegExp): string {
  return `^${MASK}|${source}`;
}
