import { z } from 'zod';
import { orMasked } from '../secrets/masked-secrets.ts';

/** What forms and the redaction code need to know about a config field beyond its zod type. */
export type FieldMeta = {
  title: string;
  description: string;
  /** Encrypted at rest and never returned in full. */
  secret?: boolean;
  /** A URL that this service will call. It must pass the same checks as a webhook's URL. */
  url?: boolean;
  /** This field determines which host gets the secrets, so anyone who changes it must enter all secrets again. */
  decidesAddress?: boolean;
  example?: string;
  choices?: readonly string[];
};

export const fieldMeta = z.registry<FieldMeta>();

const MAX_FIELD_LENGTH = 4096;
const MAX_DOCUMENT_LENGTH = 16_384;
// Neither the database nor a URL can contain half of a surrogate pair.
const ONE_LINE = /^[^\p{Cc}\p{Cs}]*$/u;

/** Without a flag, because the OpenAPI document contains it. */
const HTTPS = /^[Hh][Tt][Tt][Pp][Ss]:/;

type TextMeta = FieldMeta & { pattern?: RegExp; hint?: string; maxLength?: number };

/** Single-line text of 1 to `maxLength` characters without control characters. The caller trims it. */
export function textField(meta: TextMeta): z.ZodString {
  const { pattern, hint, maxLength = MAX_FIELD_LENGTH, ...rest } = meta;
  let schema = z
    .string()
    .regex(/\S/, "Can't be empty.")
    .max(maxLength, `Must be at most ${maxLength} characters.`)
    .regex(ONE_LINE, "Can't contain control characters.");
  if (pattern) schema = schema.regex(pattern, hint ?? 'Invalid format.');
  // A mask can be sent back to keep the stored secret.
  if (pattern && rest.secret) schema = schema.meta({ pattern: orMasked(pattern) });
  return schema.register(fieldMeta, rest);
}

/** A text field for an ID that may be sent as a JSON number. It is stored as text. */
export function textOrNumberField(meta: TextMeta) {
  const { pattern, hint, maxLength, ...rest } = meta;
  // Larger integers have already lost precision.
  const toText = (value: unknown) => (Number.isSafeInteger(value) ? String(value) : value);
  return z
    .preprocess(toText, textField(meta))
    .meta({ type: ['string', 'integer'] })
    .register(fieldMeta, rest);
}

/** A text field for a credential. */
export function secretField(meta: Omit<FieldMeta, 'secret'> & { pattern?: RegExp; hint?: string }): z.ZodString {
  return textField({ ...meta, secret: true });
}

/** A credential that is sent in a header: visible ASCII without spaces. */
export function headerSecretField(meta: Omit<FieldMeta, 'secret'>): z.ZodString {
  return secretField({ ...meta, pattern: /^[\x21-\x7e]+$/, hint: "Can't contain spaces or non-ASCII characters." });
}

/** A credential that is a JSON document, such as a key file. `isValid` checks its content. */
export function jsonSecretField(
  meta: Omit<FieldMeta, 'secret'> & { isValid: (text: string) => boolean; hint: string },
): z.ZodString {
  const { isValid, hint, ...rest } = meta;
  return z
    .string()
    .max(MAX_DOCUMENT_LENGTH, `Must be at most ${MAX_DOCUMENT_LENGTH} characters.`)
    .refine(isValid, hint)
    .register(fieldMeta, { ...rest, secret: true });
}

/**
 * An https URL without user info or a fragment, whose host matches `host` and whose path matches `path`, if given. The
 * port must be 443 unless `allowPort` is set. A query string is rejected unless `allowQuery` is set or `query` accepts
 * it.
 */
export function vendorUrlField(
  meta: FieldMeta & {
    host: RegExp;
    path?: RegExp;
    query?: (parameters: URLSearchParams) => boolean;
    hint: string;
    allowQuery?: boolean;
    allowPort?: boolean;
  },
) {
  const { host, path, query, hint, allowQuery = query !== undefined, allowPort = false, ...rest } = meta;
  return z
    .string()
    .max(2048, { error: 'Must be at most 2048 characters.', abort: true })
    .refine((value) => {
      const url = URL.canParse(value) ? new URL(value) : undefined;
      if (url?.protocol !== 'https:' || url.username || url.password || url.hash) return false;
      // URL parsers drop or translate these characters, so requests wouldn't go where the URL appears to point.
      if (/[\p{C}\p{Z}\\]/u.test(value) || (url.port !== '' && !allowPort) || (url.search !== '' && !allowQuery))
        return false;
      if (query && !query(url.searchParams)) return false;
      return host.test(url.hostname) && (!path || path.test(url.pathname));
    }, hint)
    .meta({ pattern: rest.secret ? orMasked(HTTPS) : HTTPS.source })
    .register(fieldMeta, { ...rest, url: true, decidesAddress: true });
}

/** A field that accepts one of a fixed set of values. */
export function choiceField<const T extends readonly [string, ...string[]]>(choices: T, meta: FieldMeta) {
  return z.enum(choices).register(fieldMeta, { ...meta, choices });
}
