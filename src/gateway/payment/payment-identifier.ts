import { z } from 'zod';

const NAME = 'payment-identifier';
const MIN_CHARACTERS = 16;
const MAX_CHARACTERS = 128;

/**
 * The x402 extension that lets a client give a payment its own identifier, so that signing the payment again doesn't
 * charge for it twice. https://github.com/x402-foundation/x402/blob/main/specs/extensions/payment_identifier.md
 */
export const PAYMENT_IDENTIFIER = {
  [NAME]: {
    info: { required: false },
    schema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: {
        required: { type: 'boolean' },
        id: { type: 'string', minLength: MIN_CHARACTERS, maxLength: MAX_CHARACTERS },
      },
      required: ['required'],
    },
  },
} as const;

/** Clients that support the extension but don't use it echo it back without an `id`. */
const extensionsWithId = z.object({ [NAME]: z.object({ info: z.object({ id: z.unknown() }) }) });
const identifier = z.string().regex(new RegExp(`^[A-Za-z0-9_-]{${MIN_CHARACTERS},${MAX_CHARACTERS}}$`));

/** Reads the identifier from the extensions of a version 2 payment, if there is one. */
export function identifierIn(
  extensions: unknown,
): { ok: true; identifier: string | undefined } | { ok: false; message: string } {
  const found = extensionsWithId.safeParse(extensions);
  const id = found.data?.[NAME].info.id;
  if (id === undefined) return { ok: true, identifier: undefined };
  const parsed = identifier.safeParse(id);
  if (parsed.success) return { ok: true, identifier: parsed.data };
  const message = `extensions.${NAME}.info.id: must be ${MIN_CHARACTERS} to ${MAX_CHARACTERS} letters, digits, hyphens, and underscores`;
  return { ok: false, message };
}
