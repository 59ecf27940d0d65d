import type { EgressAllow } from '../../egress/allow-list.ts';
import type { Egress } from '../../egress/egress.ts';
import { EgressError } from '../../egress/egress-error.ts';
import { checkTargetUrl } from '../../egress/url.ts';
import { type AppError, invalidField } from '../../errors.ts';
import { createSlots } from '../../limits/slots.ts';
import { USER_AGENT } from '../../version.ts';
import { addressRefusal, refusalOf } from '../urls/refusal.ts';
import { LIMITS } from './openapi/document.ts';

/** How many documents are fetched at the same time. Each of them takes up to 5 MB of memory. */
const SLOTS = { perAccount: 4, perProcess: 20, forNewAccounts: 10 };
const TIMEOUT_MILLISECONDS = 5_000;
const MAX_REDIRECTS = 3;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * Fetches documents, and limits how many an account can fetch at the same time. See `fetchDocument`.
 *
 * @returns a function that throws AppError `RATE_LIMITED` or `UNAVAILABLE` if there are too many.
 */
export function createDocumentFetcher(egress: Egress, allow: EgressAllow) {
  const texts = {
    account: `${SLOTS.perAccount} of your documents are already being fetched, which is the limit. Wait for one of these requests to finish, then retry.`,
    process: 'Too many documents are being fetched. Retry later.',
  };
  const slots = createSlots(SLOTS, { texts, retryAfterSeconds: TIMEOUT_MILLISECONDS / 1000 });
  return async (accountId: string, url: string): Promise<{ text: string; url: string }> => {
    const release = slots.take(accountId);
    try {
      return await fetchDocument(egress, allow, url);
    } finally {
      release();
    }
  };
}

/**
 * Fetches a document through the egress guard, without any credentials. Up to three redirects are followed, each to a
 * URL that the caller could have entered.
 *
 * @returns its text, and the URL that it came from
 * @throws AppError `VALIDATION_FAILED` for `/url`
 */
async function fetchDocument(
  egress: Egress,
  allow: EgressAllow,
  given: string,
): Promise<{ text: string; url: string }> {
  const deadline = performance.now() + TIMEOUT_MILLISECONDS;
  let url = given;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const request = {
      method: 'GET',
      url,
      headers: { accept: 'application/json, application/yaml, text/yaml, */*;q=0.5', 'user-agent': USER_AGENT },
      timeoutMilliseconds: Math.max(1, Math.round(deadline - performance.now())),
      maxResponseBytes: LIMITS.documentBytes,
    };
    const response = await egress.send(request).catch((error) => {
      throw error instanceof EgressError ? refuse(reasonOf(error)) : error;
    });
    const { statusCode, headers } = response;
    if (statusCode === 200) return { text: decode(response), url };
    if (!REDIRECTS.has(statusCode) || !headers.location)
      throw refuse(`The server responded with status ${statusCode}.`);
    const next = checkTargetUrl(URL.parse(headers.location, url)?.href ?? '', allow);
    if (!next.ok) throw refuse(`The server redirects to a URL that isn’t allowed. ${refusalOf(next, 'EGRESS_ALLOW')}`);
    url = next.url.href;
  }
  throw refuse('There are too many redirects.');
}

function reasonOf({ errorClass, message }: EgressError): string {
  return errorClass === 'target_not_allowed' ? addressRefusal('EGRESS_ALLOW') : message;
}

function decode({ body, bodyTruncated }: { body: Buffer; bodyTruncated: boolean }): string {
  if (bodyTruncated) throw refuse('It is larger than 5 MB, or the server sends it in too many tiny chunks.');
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    throw refuse('It isn’t UTF-8 text.');
  }
}

function refuse(reason: string): AppError {
  return invalidField('/url', `Can’t import this document. ${reason}`);
}
