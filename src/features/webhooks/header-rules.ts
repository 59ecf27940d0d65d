import { z } from 'zod';
import { CONNECTION_NAMES, headerList, headerShape, type RefusedNames, refusalIn } from '../headers/header-rules.ts';

/** Names that a webhook's headers can't have, and why. */
const REFUSED: RefusedNames = [
  [CONNECTION_NAMES, 'It applies only to a single connection.'],
  [
    /^(?:host|date|content-length|content-type|content-encoding|accept-encoding|user-agent|traceparent|tracestate)$/,
    'Tollgate sets it.',
  ],
  [/^(?:webhook|tollgate)-/, 'Tollgate sets it so that you can trust it.'],
  [/^(?:set-)?cookie2?$/, 'Use another header, or set `authentication`.'],
];

/** Why a webhook can't have a header with this name; undefined if it can. */
export function refusalOf(name: string): string | undefined {
  return refusalIn(REFUSED, name);
}

/** Checks a webhook's custom header, with its secret in full. */
export const webhookHeaderRules = z.strictObject(headerShape(REFUSED));

/** Checks a webhook's custom headers, with secrets in full. Names must be unique, regardless of case. */
export const headersInput = headerList(webhookHeaderRules);
