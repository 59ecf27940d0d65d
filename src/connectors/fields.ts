import { z } from 'zod';

/** What a form and the redaction need to know of a config field beyond its zod type. */
export type FieldMeta = {
  title: string;
  description: string;
  /** Encrypted at rest, never read back in full. */
  secret?: boolean;
  /** A URL that this service will call: where it leads is checked as for webhooks. */
  url?: boolean;
  /** Decides which host is called, and with that who gets the secrets: a change of it needs all of them again. */
  decidesAddress?: boolean;
  example?: string;
  choices?: readonly string[];
};

export const fieldMeta = z.registry<FieldMeta>();

const MAX_FIELD_LENGTH = 4096;
// Half a surrogate pair is no character: neither the database nor a URL can hold it.
const ONE_LINE = /^[^\p{Cc}\p{Cs}]*$/u;

/** Single-line text without control characters, trimmed by the caller, 1 to `maxLength` characters. */
export function textField(meta: FieldMeta & { pattern?: RegExp; hint?: string; maxLength?: number }): z.ZodString {
  const { pattern, hint, maxLength = MAX_FIELD_LENGTH, ...rest } = meta;
  let schema = z
    .string()
    .regex(/\S/, 'Must not be empty.')
    .max(maxLength, `Must have at most ${maxLength} characters.`)
    .regex(ONE_LINE, 'Must not contain control characters.');
  if (pattern) schema = schema.regex(pattern, hint ?? 'Does not have the expected form.');
  return schema.register(fieldMeta, rest);
}

/** A credential: as `textField`, and marked secret. */
export function secretField(meta: Omit<FieldMeta, 'secret'> & { pattern?: RegExp; hint?: string }): z.ZodString {
  return textField({ ...meta, secret: true });
}

/**
 * An https URL (port 443, no user info, no fragment) whose host and, if given, path the vendor really uses. A query is
 * refused unless `allowQuery` is set or `query` accepts it.
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
    .max(2048, 'Must have at most 2048 characters.')
    .refine((value) => {
      const url = URL.canParse(value) ? new URL(value) : undefined;
      if (url?.protocol !== 'https:' || url.username || url.password || url.hash) return false;
      // URL parsers drop or translate these, so that another target would be reached than was read.
      if (/[\p{C}\p{Z}\\]/u.test(value) || (url.port !== '' && !allowPort) || (url.search !== '' && !allowQuery))
        return false;
      if (query && !query(url.searchParams)) return false;
      return host.test(url.hostname) && (!path || path.test(url.pathname));
    }, hint)
    .register(fieldMeta, { ...rest, url: true, decidesAddress: true });
}

/** One of a few values. */
export function choiceField<const T extends readonly [string, ...string[]]>(choices: T, meta: FieldMeta) {
  return z.enum(choices).register(fieldMeta, { ...meta, choices });
}
