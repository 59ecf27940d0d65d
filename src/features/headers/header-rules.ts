import { z } from 'zod';
import { orMasked } from '../../secrets/masked-secrets.ts';

/** A request header. Its value is always treated as a secret, because the name doesn't reveal whether it is one. */
export type SecretHeader = { name: string; value: string };

/** Names that a list of headers can't contain, in lowercase and with hyphens, and why. */
export type RefusedNames = readonly (readonly [names: RegExp, reason: string])[];

/** Headers that apply only to one connection (RFC 9110 §7.6.1), or that depend on it. */
export const CONNECTION_NAMES =
  /^(?:connection|keep-alive|te|trailer|transfer-encoding|upgrade|http2-settings|expect|max-forwards|via|proxy-.*)$/;
/** Headers that carry payments. */
export const PAYMENT_NAMES = /^(?:x-)?payment(?:-.*)?$/;
/** Headers that make some servers and proxies treat a request as if it had a different path, host, or method. */
export const ROUTING_NAMES =
  /^x-(?:original|rewrite|http-method|method-override|http-host|host|proxy|envoy|accel|sendfile|middleware)(?:-.*)?$/;

/** The maximum number of headers in a list. */
const MAX_HEADERS = 20;
/** The maximum total length of a list's names and values. */
const MAX_HEADERS_BYTES = 8_192;
const MAX_NAME_LENGTH = 100;
/** A value is never longer, because its header also has a name. */
const MAX_VALUE_LENGTH = MAX_HEADERS_BYTES - 1;

// RFC 9110 §5.6.2 and §5.5: a token, and visible ASCII that spaces and tabs may separate.
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const VALUE = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/;

/**
 * Why a list can't contain a header with this name; undefined if it can. Servers that turn names into variables (CGI,
 * WSGI, PHP) read `x_original_url` as `x-original-url`.
 */
export function refusalIn(refused: RefusedNames, name: string): string | undefined {
  const read = name.toLowerCase().replace(/[^a-z0-9]/g, '-');
  const reason = refused.find(([names]) => names.test(read))?.[1];
  return reason && `Can’t be set. ${reason}`;
}

/** Checks the fields of a header, with its value in full. */
export function headerShape(refused: RefusedNames) {
  return {
    name: z
      .string()
      .max(MAX_NAME_LENGTH, `Must be at most ${MAX_NAME_LENGTH} characters.`)
      .regex(NAME, 'Must be a header name (RFC 9110): letters, digits, and characters such as `-`, without spaces.')
      .superRefine((name, context) => {
        const message = refusalIn(refused, name);
        if (message) context.addIssue({ code: 'custom', message });
      }),
    value: z
      .string()
      .max(MAX_VALUE_LENGTH, `Must be at most ${MAX_VALUE_LENGTH.toLocaleString('en-US')} characters.`)
      .regex(VALUE, 'Must be visible ASCII characters. Spaces and tabs are allowed only between them.')
      .meta({ pattern: orMasked(VALUE) }),
  };
}

/** A list can contain each name only once, regardless of case. */
export const nameKey = ({ name }: SecretHeader) => name.toLowerCase();

/** Checks only the number of headers. */
export function headerArray<H extends SecretHeader>(header: z.ZodType<H>) {
  return z.array(header).max(MAX_HEADERS, `Must have at most ${MAX_HEADERS} headers.`);
}

/** Checks a list of headers. */
export function headerList<H extends SecretHeader>(header: z.ZodType<H>, keyOf: (header: H) => string = nameKey) {
  return headerArray(header).superRefine((headers, context) => {
    const keys = headers.map(keyOf);
    for (const [index, key] of keys.entries()) {
      if (keys.indexOf(key) === index) continue;
      const message = 'Another header already has this name.';
      context.addIssue({ code: 'custom', path: [index, 'name'], message });
    }
    if (bytesOf(headers) > MAX_HEADERS_BYTES) {
      const message = `Must be at most ${MAX_HEADERS_BYTES.toLocaleString('en-US')} bytes in total, including names.`;
      context.addIssue({ code: 'custom', message });
    }
  });
}

function bytesOf(headers: readonly SecretHeader[]): number {
  return headers.reduce((sum, { name, value }) => sum + name.length + value.length, 0);
}
