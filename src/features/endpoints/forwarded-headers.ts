import { z } from 'zod';
import { CONNECTION_NAMES, PAYMENT_NAMES, type RefusedNames, ROUTING_NAMES } from '../headers/header-rules.ts';

const MAX_HEADERS = 32;
const MAX_CHARACTERS = 64;
/**
 * Stricter than HTTP: servers that turn names into variables (CGI, WSGI, PHP) read `x-real_ip` and `x-real.ip` as
 * `x-real-ip`.
 */
const NAME = /^[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*$/;

/** Names that an endpoint can't list, and why. */
const REFUSED: RefusedNames = [
  [PAYMENT_NAMES, 'It is part of the payment, which the gateway doesn’t forward.'],
  [
    /^(?:host|forwarded|via|x-forwarded(?:-.*)?|(?:x-)?tollgate(?:-.*)?)$/,
    'The gateway sets it so that your API can trust it.',
  ],
  [CONNECTION_NAMES, 'It applies only to the connection to the gateway.'],
  [/^content-length$/, 'It applies only to the connection to the gateway.'],
  [/^(?:set-)?cookie2?$/, 'Cookies are set for the gateway’s host, which all sellers share.'],
  [
    /^(?:x-)?(?:real-ip|client-ip|cluster-client-ip|originating-ip|remote-(?:ip|addr|user)|true-client-ip|.*-connecting-ip(?:v6)?)$/,
    'Buyers could spoof their IP address. Use `X-Forwarded-For`, which the gateway sets.',
  ],
  [ROUTING_NAMES, 'Buyers could use it to make your API see a different request than the one they paid for.'],
];

/** Normalizes names of request headers: converts them to lowercase and removes duplicates. */
export const forwardedHeadersInput = z
  .array(
    z
      .string()
      .meta({ maxLength: MAX_CHARACTERS, pattern: NAME.source })
      .transform((text, context) => {
        const message = problemOf(text);
        if (message === undefined) return text.toLowerCase();
        context.addIssue({ code: 'custom', message });
        return z.NEVER;
      }),
  )
  .max(MAX_HEADERS, `Must have at most ${MAX_HEADERS} names.`)
  .transform((names) => [...new Set(names)]);

function problemOf(name: string): string | undefined {
  if (name.length > MAX_CHARACTERS || !NAME.test(name))
    return `Must be the name of a header: letters, digits, and single hyphens, at most ${MAX_CHARACTERS} characters, for example, "x-api-version".`;
  const reason = REFUSED.find(([names]) => names.test(name.toLowerCase()))?.[1];
  return reason && `Can’t be forwarded. ${reason}`;
}
