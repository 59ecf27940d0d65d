import { z } from 'zod';
import type { Outcome } from '../definition.ts';
import type { ConnectorRequest, ConnectorResponse } from '../exchange.ts';
import { headerSecretField, textField } from '../fields.ts';
import { bearer } from '../shared/bearer.ts';
import { classifyByStatus, parseJson, retry, retryAfterSeconds, valueAt, vendorText } from '../shared/classify.ts';
import { requireCredential } from '../shared/credential-rule.ts';
import { clientFields, grantField, refreshTokenField, rejectedToken } from '../shared/oauth-client.ts';

export const API_URL = 'https://api.xero.com';
export const CONTACT_NAME = 'x402 API customers';
export const CONNECT_AGAIN = 'Connect your app to the organization again, and save its credentials.';
const MINUTE_WAIT_SECONDS = 60;
const DAY_WAIT_SECONDS = 3600;
/** The most that Xero returns in one response. */
const PAGE_SIZE = 1000;
/** Enough for a page of whole invoices. */
const MAX_PAGE_BYTES = 4_194_304;
/** How far entries are looked for from their original date. */
const MAX_MOVED_DAYS = 92;
/** Entries with these statuses no longer count, so a day can be booked again. */
const GONE: ReadonlySet<unknown> = new Set(['VOIDED', 'DELETED']);
const ACCOUNT_CODE = { pattern: /^[\w.-]{1,10}$/, hint: "Must be an account's code, such as 090." };

const fields = z
  .strictObject({
    accessToken: headerSecretField({
      title: 'Access token',
      description:
        'An OAuth 2.0 access token with the accounting.invoices scope (accounting.transactions for older apps). It expires after 30 minutes, so we recommend using a client ID and a client secret instead.',
    }).optional(),
    tenantId: textField({
      title: 'Tenant ID',
      description: "The organization's tenant ID, as listed by GET https://api.xero.com/connections.",
      example: '70784a63-d24b-46a9-a4db-0e70a274b056',
      pattern: /^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/,
      hint: 'Must be a UUID.',
    }),
    bankAccountCode: textField({
      title: 'Bank account code',
      description:
        'The code of a bank account in US dollars that represents the wallet. If set, revenue is booked to this account as money received, without invoices.',
      example: '090',
      ...ACCOUNT_CODE,
    }).optional(),
    revenueAccountCode: textField({
      title: 'Revenue account code',
      description: 'The code of the revenue account. Required together with a bank account code.',
      example: '200',
      ...ACCOUNT_CODE,
    }).optional(),
    ...clientFields,
    refreshToken: refreshTokenField(
      'Required only if your app isn’t a custom connection. Xero replaces the token every time it is used.',
    ),
    grant: grantField(),
  })
  .superRefine(({ bankAccountCode, revenueAccountCode }, context) => {
    if ((bankAccountCode === undefined) === (revenueAccountCode === undefined)) return;
    const [missing, other] =
      bankAccountCode === undefined
        ? ['bankAccountCode', 'revenueAccountCode']
        : ['revenueAccountCode', 'bankAccountCode'];
    context.addIssue({ code: 'custom', path: [missing], message: `Required together with \`${other}\`.` });
  });
export const config = requireCredential(fields, ['clientId', 'clientSecret'], ['refreshToken']);
export type Config = z.infer<typeof config>;

/** @param query the encoded query, such as `where=…`. */
export function find(resource: string, query: string, config: Config, step: string): ConnectorRequest {
  const url = `${API_URL}/api.xro/2.0/${resource}?${query}`;
  return { method: 'GET', url, headers: authorization(config), maxResponseBytes: MAX_PAGE_BYTES, step };
}

/** Finds the entries that match a filter. */
export function findWhere(resource: string, filter: string, config: Config, step: string): ConnectorRequest {
  return find(resource, `where=${encodeURIComponent(filter)}&page=1&pageSize=${PAGE_SIZE}`, config, step);
}

/**
 * @param idempotencyKey identifies this request for six minutes. During that time, Xero returns the same response
 * again.
 */
export function create(resource: string, entry: object, config: Config, idempotencyKey: string, step: string) {
  return {
    method: 'PUT',
    url: `${API_URL}/api.xro/2.0/${resource}?summarizeErrors=true&unitdp=4`,
    headers: { ...authorization(config), 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
    body: JSON.stringify({ [resource]: [entry] }),
    step,
  } satisfies ConnectorRequest;
}

/**
 * A filter for entries dated around a day, given as YYYY-MM-DD. Entries are recognized by their numbers, because someone may
 * have changed their dates, but without a date, Xero searches all entries.
 */
export function dateFilter(date: string): string {
  const at = (days: number) => `DateTime(${daysAfter(date, days).replaceAll('-', ',')})`;
  return `Date>=${at(-MAX_MOVED_DAYS)} AND Date<=${at(MAX_MOVED_DAYS)}`;
}

/** The date that is `days` days later, as YYYY-MM-DD. */
export function daysAfter(date: string, days: number): string {
  return new Date(Date.parse(date) + days * 86_400_000).toISOString().slice(0, 10);
}

/**
 * The entries of a list in a response, such as `Invoices`. Undefined if the response can't be read, for example, because
 * it is too long. That says nothing about which entries exist.
 */
export function listIn(response: ConnectorResponse, resource: string): unknown[] | undefined {
  const list = valueAt(parseJson(response.body), resource);
  return Array.isArray(list) ? list : undefined;
}

/** Like `listIn`, without the entries that no longer count. */
export function bookedIn(response: ConnectorResponse, resource: string): unknown[] | undefined {
  return listIn(response, resource)?.filter((entry) => !GONE.has(valueAt(entry, 'Status')));
}

/** The outcome if `listIn` can't read a response. If entries were created anyway, they could exist twice. */
export const UNREADABLE = retry("Xero's list of entries couldn't be read.");

/**
 * What Xero returned for a new entry: its fields, or the messages that say why it was rejected. Undefined if the status
 * alone determines what the response means.
 */
export function createdIn(
  response: ConnectorResponse,
  resource: string,
): { entry: unknown } | { messages: string[] } | undefined {
  const isSuccess = response.statusCode === 200 || response.statusCode === 201;
  if (!isSuccess && response.statusCode !== 400) return undefined;
  const json = parseJson(response.body);
  const entry = valueAt(json, isSuccess ? resource : 'Elements', 0);
  const hasErrors = valueAt(entry, 'HasErrors') === true || valueAt(entry, 'StatusAttributeString') === 'ERROR';
  if (isSuccess && !hasErrors) return { entry };
  const problems = valueAt(entry, 'ValidationErrors');
  const messages = (Array.isArray(problems) ? problems : []).map((problem) => valueAt(problem, 'Message'));
  const texts = [...messages, valueAt(json, 'Message')].filter((text) => typeof text === 'string');
  return { messages: texts };
}

/** The outcome of an error response that isn't a validation error. */
export function classifyError(response: ConnectorResponse, config: Config, now: Date): Outcome {
  const { statusCode, headers } = response;
  if (statusCode === 429) {
    const isDaily = headers['x-rate-limit-problem']?.toLowerCase().startsWith('day');
    const wait = isDaily ? DAY_WAIT_SECONDS : MINUTE_WAIT_SECONDS;
    return retry(
      `Xero's ${isDaily ? 'daily' : 'per-minute'} rate limit has been reached.`,
      retryAfterSeconds(response, now) ?? wait,
    );
  }
  if (statusCode === 401) {
    return { kind: 'pause', reason: rejectedToken('Xero', config, '30 minutes', CONNECT_AGAIN) };
  }
  if (statusCode === 403) {
    return {
      kind: 'pause',
      reason: "The access token doesn't have access to this organization. Check the tenant ID and the scopes.",
    };
  }
  const json = parseJson(response.body);
  const detail = vendorText(valueAt(json, 'Message') ?? valueAt(json, 'Detail'), [config.accessToken]);
  return classifyByStatus('Xero', response, { expected: [], ...(detail && { detail }), now });
}

function authorization({ accessToken, tenantId }: Config): Record<string, string> {
  return { ...bearer(accessToken), 'xero-tenant-id': tenantId };
}
