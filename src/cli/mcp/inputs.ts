import { z } from 'zod';
import { EVENT_TYPES } from '../../events/types.ts';

const MAX_PAGE_SIZE = 50;
const MAX_LOGGED_CHARACTERS = 200;

export const id = (prefix: string) => z.string().max(64).describe(`ID, \`${prefix}_…\`.`);

export const time = z.string().max(64).describe('Timestamp, for example, 2026-01-02T03:04:05Z.');

export const eventTypes = z
  .array(z.enum(EVENT_TYPES))
  .max(EVENT_TYPES.length)
  .optional()
  .describe('Include only these event types.');

export const deliveryStatuses = z
  .array(z.enum(['PENDING', 'RUNNING', 'SUCCEEDED', 'FAILED', 'SKIPPED']))
  .max(5)
  .optional()
  .describe('Only deliveries with one of these statuses.');

export const maxPerSecond = z
  .int()
  .min(1)
  .max(1_000)
  .optional()
  .describe('Deliveries to queue per second, 1 to 1,000. Default: 50.');

/** The arguments of every list. */
export const paging = {
  limit: z.int().min(1).max(MAX_PAGE_SIZE).optional().describe(`Page size, 1 to ${MAX_PAGE_SIZE}. Default: 20.`),
  after: z.string().max(500).optional().describe('`nextCursor` of the previous page.'),
};

/**
 * The arguments that the audit log keeps forever. All others are left out, because they may be secret (such as URLs) or
 * aren't useful later.
 */
const LOGGED: ReadonlySet<string> = new Set([
  ...['endpointId', 'paymentId', 'customerId', 'eventId', 'deliveryId', 'webhookId', 'connectorId', 'replayId'],
  ...['targetId', 'payer', 'walletAddress', 'transactionHash', 'from', 'to', 'since', 'until', 'interval', 'orderBy'],
  ...['status', 'eventType', 'eventTypes', 'action', 'limit', 'maxPerSecond', 'path', 'priceUsd', 'methods'],
  ...['isActive', 'timeoutSeconds', 'test', 'name', 'waitSeconds'],
]);

/** The details to record about a call, short enough for the audit log. */
export function loggedArguments(input: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const entries = Object.entries(input).filter(([name, value]) => LOGGED.has(name) && value !== undefined);
  return Object.fromEntries(
    entries.map(([name, value]) => [
      name,
      typeof value === 'string' ? value.slice(0, MAX_LOGGED_CHARACTERS).toWellFormed() : value,
    ]),
  );
}
