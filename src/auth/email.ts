import { z } from 'zod';

/** RFC 5321 §4.5.3.1.3 */
const MAX_LENGTH = 254;
const ADDRESS = z.email();

/**
 * Converts an email address to lowercase, so that addresses can be compared. Undefined for text that isn't an ASCII
 * address. Other characters are rejected before the conversion, because some of them, such as the Kelvin sign, become
 * ASCII letters in lowercase. Dots and tags in the local part are significant, because most providers distinguish them.
 */
export function normalEmail(text: string): string | undefined {
  const isAscii = /^[\x21-\x7e]+$/.test(text);
  return isAscii && text.length <= MAX_LENGTH && ADDRESS.safeParse(text).success ? text.toLowerCase() : undefined;
}

/** Checks and converts an email address that a caller sends. */
export const emailInput = z
  .string()
  .meta({ maxLength: MAX_LENGTH, format: 'email' })
  .transform(normalEmail)
  .refine((email) => email !== undefined, 'Must be an email address, in ASCII.');
