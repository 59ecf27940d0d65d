import { sharedNow } from '../../clock.ts';
import type { Egress } from '../../egress/egress.ts';
import { EgressError, isUnsent } from '../../egress/egress-error.ts';
import { RedirectError, sendFollowing } from '../../egress/redirects.ts';
import { parseRetryAfter } from '../../retry-after.ts';
import { MASK } from '../../secrets/mask.ts';
import { maskUrl } from '../../secrets/mask-url.ts';
import { scrub } from '../../secrets/redact.ts';
import {
  FACILITATOR_REJECTED,
  type Facilitator,
  FacilitatorError,
  type FacilitatorOperation,
  type FacilitatorRequest,
  type FacilitatorSettlement,
  readHttpError,
  readSettlement,
  readSupported,
  readVerification,
} from './facilitator.ts';
import type { FacilitatorAuth } from './facilitator-auth.ts';
import { createFacilitatorTurns, type FacilitatorTurns, TurnMissed } from './facilitator-turns.ts';

export type FacilitatorTimeouts = { verifyMilliseconds: number; settleMilliseconds: number };

export const FACILITATOR_TIMEOUTS: FacilitatorTimeouts = { verifyMilliseconds: 10_000, settleMilliseconds: 30_000 };

const MAX_RESPONSE_BYTES = 64 * 1024;

/** The fields of responses that buyers and sellers see. */
const TEXTS = ['invalidReason', 'invalidMessage', 'errorReason', 'errorMessage'];

/** The owner of the prepared searches for our credentials. Those for tokens that are sent only once are soon dropped. */
const SEARCHES = 'facilitator';

/** How long a call waits for the account's turn. Authorizations are valid for only a little longer than the call takes. */
const WAIT_MILLISECONDS = { verify: 5_000, settle: 10_000 };

/** How long to verify no payments after `/settle` couldn't be called, before it is tried again. */
const RECHECK_MILLISECONDS = 60_000;

/** `value` is the parsed body, without our secrets. `error` is set if the status is 400 or above. */
type HttpResponse = {
  statusCode: number;
  value: unknown;
  error: FacilitatorError | undefined;
  retryAfterSeconds: number | undefined;
};

/**
 * A facilitator reached over HTTP (https://github.com/coinbase/x402/blob/main/specs/x402-specification-v2.md#7-facilitator-interface).
 * Credentials are sent only to its own site.
 *
 * If `/settle` redirects elsewhere, payments aren't verified, because upstreams would do work that nobody pays for.
 *
 * @param options `url` is the base URL of `/verify`, `/settle`, and `/supported`. `now` returns milliseconds.
 */
export function createHttpFacilitator(options: {
  url: string;
  egress: Pick<Egress, 'send'>;
  auth: FacilitatorAuth;
  timeouts?: FacilitatorTimeouts;
  /** Shared by all networks of this facilitator. */
  turns?: FacilitatorTurns;
  now?: () => number;
}): Facilitator {
  const { egress, auth, timeouts = FACILITATOR_TIMEOUTS, now = () => performance.now() } = options;
  const { turns = createFacilitatorTurns() } = options;
  const base = options.url.replace(/\/+$/, '');
  const keyUrls = maskUrl(base) === base ? [] : [base];
  let settleFault: { error: FacilitatorError; checkedAt: number } | undefined;

  async function call(
    method: 'GET' | 'POST',
    path: string,
    timeoutMilliseconds: number,
    body?: FacilitatorRequest | Record<string, never>,
  ): Promise<HttpResponse> {
    const url = `${base}${path}`;
    const common = { accept: 'application/json', ...(body && { 'content-type': 'application/json' }) };
    let credentials = await auth(method, url);
    const secrets = [...keyUrls, ...secretsIn(credentials)];
    const request = {
      method,
      url,
      headers: { ...common, ...credentials },
      ...(body && { body: JSON.stringify(body) }),
      timeoutMilliseconds,
      maxResponseBytes: MAX_RESPONSE_BYTES,
    };
    /** The facilitator may quote the credentials that we sent, and its URL, which can contain a key, plain or encoded. */
    const shown = (quoting: string) => scrub(quoting, secrets, SEARCHES).replaceAll(MASK, '***');
    const { statusCode, headers, ...response } = await sendFollowing(egress.send, request, {
      mayLeaveSite: Object.keys(credentials).length === 0,
      async headersFor(next) {
        // A token can be valid for one URL only.
        credentials = await auth(method, next);
        secrets.push(...secretsIn(credentials));
        return { ...common, ...credentials };
      },
    }).catch((error) => {
      throw error instanceof RedirectError ? redirected(error, { base, path, shown }) : error;
    });
    const text = response.body.toString('utf8');
    const retryAfter = { 'retry-after': headers['retry-after']?.toString(), date: headers.date?.toString() };
    const error = statusCode < 400 ? undefined : readHttpError(statusCode, shown(text));
    return {
      statusCode,
      value: withShownTexts(parse(text), shown),
      error,
      retryAfterSeconds: parseRetryAfter(retryAfter, sharedNow()),
    };
  }

  async function callSettle(timeoutMilliseconds: number, body: Parameters<typeof call>[3]): Promise<HttpResponse> {
    try {
      const response = await call('POST', '/settle', timeoutMilliseconds, body);
      settleFault = undefined;
      return response;
    } catch (error) {
      if (error instanceof FacilitatorError) settleFault = { error, checkedAt: now() };
      throw error;
    }
  }

  /** @throws FacilitatorError if payments can't be settled. */
  async function requireSettle(): Promise<void> {
    if (!settleFault) return;
    if (now() - settleFault.checkedAt < RECHECK_MILLISECONDS) throw settleFault.error;
    // Until there is a result, other payments get the previous one.
    settleFault.checkedAt = now();
    await probe('settle');
  }

  async function probe(operation: FacilitatorOperation): Promise<number> {
    const response =
      operation === 'settle'
        ? callSettle(timeouts.verifyMilliseconds, {})
        : call('POST', '/verify', timeouts.verifyMilliseconds, {});
    const { statusCode } = await response.catch((cause) => {
      throw unavailable(cause);
    });
    return statusCode;
  }

  /** For verification and capabilities, anything other than a usable response is an error. */
  async function ask<T>(read: (response: unknown) => T, response: Promise<HttpResponse>): Promise<T> {
    const { value, error } = await response.catch((cause) => {
      throw unavailable(cause);
    });
    try {
      return read(value);
    } catch (unusable) {
      throw error ?? unusable;
    }
  }

  return {
    async verify(request, accountId = '') {
      await requireSettle();
      const send = () => call('POST', '/verify', timeouts.verifyMilliseconds, request);
      const wait = { waitMilliseconds: WAIT_MILLISECONDS.verify, isRepeated: true };
      return ask(readVerification, turns.run(accountId, send, wait));
    },
    supported: () => ask(readSupported, call('GET', '/supported', timeouts.verifyMilliseconds)),
    async settle(request, accountId = '') {
      const send = () => callSettle(timeouts.settleMilliseconds, request);
      // The caller repeats it, after a look at the chain.
      const wait = { waitMilliseconds: WAIT_MILLISECONDS.settle, isRepeated: false };
      try {
        return settlementOf(await turns.run(accountId, send, wait));
      } catch (error) {
        const { reason, message, advice, cause } = unavailable(error);
        if (cause instanceof RedirectError) {
          // After this status, the result is at the other URL.
          if (cause.statusCode === 303) return { kind: 'ambiguous', reason, message, isDenied: false };
          return { kind: 'refused', reason, message, ...(advice !== undefined && { advice }) };
        }
        const hasNotArrived =
          error instanceof TurnMissed || (error instanceof EgressError && isUnsent(error.errorClass));
        if (hasNotArrived) return { kind: 'notSent', reason, message };
        return { kind: 'unavailable', reason, message, retryAfterSeconds: undefined };
      }
    },
    probe,
  };
}

/**
 * The error for a redirect that isn't followed. The address could be internal, so only the operator sees it, in the log,
 * as `shown` returns it.
 */
function redirected(
  { statusCode, target, message }: RedirectError,
  { base, path, shown }: { base: string; path: string; shown: (text: string) => string },
): FacilitatorError {
  const next = target?.endsWith(path) ? target.slice(0, -path.length) : undefined;
  const where = target === undefined ? message : `It redirects to ${target}.`;
  const instead = next === undefined || next === base ? "an address that doesn't redirect" : next;
  const advice = shown(`${where} Set FACILITATOR_URL (or FACILITATOR_URLS) to ${instead}.`);
  const cause = new RedirectError(statusCode, target && shown(target), shown(message));
  return new FacilitatorError(FACILITATOR_REJECTED, 'The facilitator redirects to another address.', { cause, advice });
}

/** A facilitator can report any outcome with any status, so the body takes precedence. */
function settlementOf({ value, error, retryAfterSeconds }: HttpResponse): FacilitatorSettlement {
  const settlement = readSettlement(value);
  if (!error || settlement.kind !== 'ambiguous' || settlement.transactionHash) return settlement;
  const { reason, message } = error;
  if (reason !== FACILITATOR_REJECTED) return { kind: 'unavailable', reason, message, retryAfterSeconds };
  return settlement.isDenied ? settlement : { kind: 'refused', reason, message };
}

/** A parsed response in which each text for people is as `shown` returns it. */
function withShownTexts(value: unknown, shown: (text: string) => string): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const fields = value as Record<string, unknown>;
  const texts = TEXTS.flatMap((name) => (typeof fields[name] === 'string' ? [[name, shown(fields[name])]] : []));
  return { ...fields, ...Object.fromEntries(texts) };
}

function secretsIn(credentials: Record<string, string>): string[] {
  return Object.values(credentials).flatMap((value) => value.split(' ').slice(1));
}

function unavailable(cause: unknown): FacilitatorError {
  if (cause instanceof FacilitatorError) return cause;
  const detail = cause instanceof EgressError || cause instanceof TurnMissed ? ` ${cause.message}` : '';
  return new FacilitatorError('facilitator_unavailable', `The facilitator didn't respond.${detail}`, { cause });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
