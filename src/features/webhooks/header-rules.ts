import { z } from 'zod';
import type { WebhookHeader } from '../../delivery/send/webhook-credentials.ts';

/** How many headers of its own a webhook can have. */
const MAX_HEADERS = 20;
/** How long their names and values can be in total. */
const MAX_HEADERS_BYTES = 8_192;
const MAX_NAME_LENGTH = 100;

// RFC 9110 §5.6.2 and §5.5: a token, and visible ASCII that spaces and tabs may separate.
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const VALUE = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/;

/** Names that a webhook can't have, in lowercase, and why. */
const REFUSED: readonly (readonly [names: RegExp, reason: string])[] = [
  [
    /^(?:connection|keep-alive|te|trailer|transfer-encoding|upgrade|http2-settings|expect|max-forwards|via|proxy-.*)$/,
    'It is only for the connection.',
  ],
  [
    /^(?:host|date|content-length|content-type|content-encoding|accept-encoding|user-agent|traceparent|tracestate)$/,
    'Tollgate sets it.',
  ],
  [/^(?:webhook|tollgate)-/, 'Tollgate sets it, so that you can trust it.'],
  [/^(?:set-)?cookie2?$/, 'Use another header, or set `authentication`.'],
];

/** Why a webhook can't have a header with this name; undefined if it can. */
export function refusalOf(name: string): string | undefined {
  const reason = REFUSED.find(([names]) => names.test(name.toLowerCase()))?.[1];
  return reason && `Can’t be set. ${reason}`;
}

const headerInput = z.strictObject({
  name: z
    .string()
    .max(MAX_NAME_LENGTH, `Must be at most ${MAX_NAME_LENGTH} characters.`)
    .regex(NAME, 'Must be a header name (RFC 9110): letters, digits, and characters such as `-`, without spaces.')
    .superRefine((name, context) => {
      const message = refusalOf(name);
      if (message) context.addIssue({ code: 'custom', message });
    }),
  value: z.string().regex(VALUE, 'Must be visible ASCII characters. Spaces and tabs are allowed only between them.'),
});

/** Checks a webhook's own headers, with secrets in full. Names are unique, whatever their case. */
export const headersInput = z
  .array(headerInput)
  .max(MAX_HEADERS, `Must have at most ${MAX_HEADERS} headers.`)
  .superRefine((headers, context) => {
    const names = headers.map(({ name }) => name.toLowerCase());
    for (const [index, name] of names.entries()) {
      if (names.indexOf(name) === index) continue;
      context.addIssue({ code: 'custom', path: [index, 'name'], message: 'There is already a header with this name.' });
    }
    if (bytesOf(headers) > MAX_HEADERS_BYTES) {
      const message = `Must be at most ${MAX_HEADERS_BYTES.toLocaleString('en-US')} bytes in total, names included.`;
      context.addIssue({ code: 'custom', message });
    }
  });

function bytesOf(headers: readonly WebhookHeader[]): number {
  return headers.reduce((sum, { name, value }) => sum + name.length + value.length, 0);
}
