import type { Logger } from 'pino';
import type { Egress } from '../../egress/egress.ts';
import { EgressError, isUnsent } from '../../egress/egress-error.ts';
import {
  type Facilitator,
  FacilitatorError,
  type FacilitatorRequest,
  type FacilitatorSettlement,
  readSettlement,
  readSupported,
  readVerification,
} from './facilitator.ts';
import type { FacilitatorAuth } from './facilitator-auth.ts';

export type FacilitatorTimeouts = { verifyMilliseconds: number; settleMilliseconds: number };

export const FACILITATOR_TIMEOUTS: FacilitatorTimeouts = { verifyMilliseconds: 10_000, settleMilliseconds: 30_000 };

const MAX_RESPONSE_BYTES = 64 * 1024;

/**
 * A facilitator reached over HTTP (https://github.com/coinbase/x402/blob/main/specs/x402-specification-v2.md#7-facilitator-interface).
 *
 * @param options `url` is the base URL of `/verify`, `/settle`, and `/supported`.
 */
export function createHttpFacilitator(options: {
  url: string;
  egress: Pick<Egress, 'send'>;
  auth: FacilitatorAuth;
  log: Logger;
  timeouts?: FacilitatorTimeouts;
}): Facilitator {
  const { egress, auth, log, timeouts = FACILITATOR_TIMEOUTS } = options;
  const base = options.url.replace(/\/+$/, '');

  async function call(method: 'GET' | 'POST', path: string, timeoutMilliseconds: number, body?: FacilitatorRequest) {
    const url = `${base}${path}`;
    const response = await egress.send({
      method,
      url,
      headers: {
        accept: 'application/json',
        ...(body && { 'content-type': 'application/json' }),
        ...(await auth(method, url)),
      },
      ...(body && { body: JSON.stringify(body) }),
      timeoutMilliseconds,
      maxResponseBytes: MAX_RESPONSE_BYTES,
    });
    const { statusCode } = response;
    if (statusCode >= 400) log.warn({ path, statusCode }, 'the facilitator returned an error');
    return { statusCode, value: parse(response.body) };
  }

  /** For verification and capabilities, anything other than a usable response is an error. */
  async function ask<T>(read: (response: unknown) => T, ...args: Parameters<typeof call>): Promise<T> {
    const { statusCode, value } = await call(...args).catch((cause) => {
      throw unavailable(cause);
    });
    try {
      return read(value);
    } catch (error) {
      if (statusCode < 400) throw error;
      throw new FacilitatorError('facilitator_unavailable', `The facilitator responded with status ${statusCode}.`);
    }
  }

  return {
    verify: (request) => ask(readVerification, 'POST', '/verify', timeouts.verifyMilliseconds, request),
    supported: () => ask(readSupported, 'GET', '/supported', timeouts.verifyMilliseconds),
    async settle(request): Promise<FacilitatorSettlement> {
      try {
        const { value } = await call('POST', '/settle', timeouts.settleMilliseconds, request);
        return readSettlement(value);
      } catch (error) {
        const hasNotArrived = error instanceof EgressError && isUnsent(error.errorClass);
        const { reason, message } = unavailable(error);
        return { kind: hasNotArrived ? 'notSent' : 'ambiguous', reason, message };
      }
    },
  };
}

function unavailable(cause: unknown): FacilitatorError {
  const detail = cause instanceof EgressError ? ` ${cause.message}` : '';
  return new FacilitatorError('facilitator_unavailable', `The facilitator didn't respond.${detail}`, { cause });
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}
