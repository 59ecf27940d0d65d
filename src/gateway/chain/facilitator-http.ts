import type { Egress } from '../../egress/egress.ts';
import { EgressError, isUnsent } from '../../egress/egress-error.ts';
import { parseRetryAfter } from '../../retry-after.ts';
import {
  FACILITATOR_REJECTED,
  type Facilitator,
  FacilitatorError,
  type FacilitatorRequest,
  type FacilitatorSettlement,
  readHttpError,
  readSettlement,
  readSupported,
  readVerification,
} from './facilitator.ts';
import type { FacilitatorAuth } from './facilitator-auth.ts';

export type FacilitatorTimeouts = { verifyMilliseconds: number; settleMilliseconds: number };

export const FACILITATOR_TIMEOUTS: FacilitatorTimeouts = { verifyMilliseconds: 10_000, settleMilliseconds: 30_000 };

const MAX_RESPONSE_BYTES = 64 * 1024;

/** `value` is the parsed body. `error` is set if the status is 400 or above. */
type HttpResponse = { value: unknown; error: FacilitatorError | undefined; retryAfterSeconds: number | undefined };

/**
 * A facilitator reached over HTTP (https://github.com/coinbase/x402/blob/main/specs/x402-specification-v2.md#7-facilitator-interface).
 *
 * @param options `url` is the base URL of `/verify`, `/settle`, and `/supported`.
 */
export function createHttpFacilitator(options: {
  url: string;
  egress: Pick<Egress, 'send'>;
  auth: FacilitatorAuth;
  timeouts?: FacilitatorTimeouts;
}): Facilitator {
  const { egress, auth, timeouts = FACILITATOR_TIMEOUTS } = options;
  const base = options.url.replace(/\/+$/, '');

  async function call(
    method: 'GET' | 'POST',
    path: string,
    timeoutMilliseconds: number,
    body?: FacilitatorRequest,
  ): Promise<HttpResponse> {
    const url = `${base}${path}`;
    const credentials = await auth(method, url);
    const { statusCode, headers, ...response } = await egress.send({
      method,
      url,
      headers: { accept: 'application/json', ...(body && { 'content-type': 'application/json' }), ...credentials },
      ...(body && { body: JSON.stringify(body) }),
      timeoutMilliseconds,
      maxResponseBytes: MAX_RESPONSE_BYTES,
    });
    const text = response.body.toString('utf8');
    const retryAfter = { 'retry-after': headers['retry-after']?.toString() };
    const error = statusCode < 400 ? undefined : readHttpError(statusCode, withoutSecrets(text, credentials));
    return { value: parse(text), error, retryAfterSeconds: parseRetryAfter(retryAfter, Date.now()) };
  }

  /** For verification and capabilities, anything other than a usable response is an error. */
  async function ask<T>(read: (response: unknown) => T, ...args: Parameters<typeof call>): Promise<T> {
    const { value, error } = await call(...args).catch((cause) => {
      throw unavailable(cause);
    });
    try {
      return read(value);
    } catch (unusable) {
      throw error ?? unusable;
    }
  }

  return {
    verify: (request) => ask(readVerification, 'POST', '/verify', timeouts.verifyMilliseconds, request),
    supported: () => ask(readSupported, 'GET', '/supported', timeouts.verifyMilliseconds),
    async settle(request) {
      try {
        return settlementOf(await call('POST', '/settle', timeouts.settleMilliseconds, request));
      } catch (error) {
        const hasNotArrived = error instanceof EgressError && isUnsent(error.errorClass);
        const { reason, message } = unavailable(error);
        if (hasNotArrived) return { kind: 'notSent', reason, message };
        return { kind: 'unavailable', reason, message, retryAfterSeconds: undefined };
      }
    },
  };
}

/** A facilitator can report any outcome with any status, so the body takes precedence. */
function settlementOf({ value, error, retryAfterSeconds }: HttpResponse): FacilitatorSettlement {
  const settlement = readSettlement(value);
  if (!error || settlement.kind !== 'ambiguous' || settlement.transactionHash) return settlement;
  const { reason, message } = error;
  if (reason !== FACILITATOR_REJECTED) return { kind: 'unavailable', reason, message, retryAfterSeconds };
  return settlement.isDenied ? settlement : { kind: 'refused', reason, message };
}

/** The response may quote the credentials that we sent. */
function withoutSecrets(text: string, headers: Record<string, string>): string {
  const secrets = Object.values(headers).flatMap((value) => value.split(' ').slice(1));
  return secrets.filter(Boolean).reduce((safe, secret) => safe.replaceAll(secret, '***'), text);
}

function unavailable(cause: unknown): FacilitatorError {
  const detail = cause instanceof EgressError ? ` ${cause.message}` : '';
  return new FacilitatorError('facilitator_unavailable', `The facilitator didn't respond.${detail}`, { cause });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
