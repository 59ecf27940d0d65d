import type { Logger } from 'pino';
import type { Egress } from '../../egress/egress.ts';
import { EgressError, isUnsent } from '../../egress/egress-error.ts';
import {
  type Facilitator,
  FacilitatorError,
  type FacilitatorRequest,
  readSettlement,
  readSupported,
  readVerification,
  type Settlement,
} from './facilitator.ts';
import type { FacilitatorAuth } from './facilitator-auth.ts';

export type FacilitatorTimeouts = { verifyMilliseconds: number; settleMilliseconds: number };

export const FACILITATOR_TIMEOUTS: FacilitatorTimeouts = { verifyMilliseconds: 10_000, settleMilliseconds: 30_000 };

const MAX_ANSWER_BYTES = 64 * 1024;

/**
 * A facilitator reached by HTTP (https://github.com/coinbase/x402/blob/main/specs/x402-specification-v2.md#7-facilitator-interface).
 *
 * @param options `url` is the base that `/verify`, `/settle` and `/supported` are under.
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
    const answer = await egress.send({
      method,
      url,
      headers: {
        accept: 'application/json',
        ...(body && { 'content-type': 'application/json' }),
        ...(await auth(method, url)),
      },
      ...(body && { body: JSON.stringify(body) }),
      timeoutMilliseconds,
      maxResponseBytes: MAX_ANSWER_BYTES,
    });
    const { statusCode } = answer;
    if (statusCode >= 400) log.warn({ path, statusCode }, 'the facilitator answered with an error');
    return { statusCode, value: parse(answer.body) };
  }

  /** Verification and capabilities: whatever is not an answer is an error. */
  async function ask<T>(read: (answer: unknown) => T, ...args: Parameters<typeof call>): Promise<T> {
    const { statusCode, value } = await call(...args).catch((cause) => {
      throw unavailable(cause);
    });
    try {
      return read(value);
    } catch (error) {
      if (statusCode < 400) throw error;
      throw new FacilitatorError('facilitator_unavailable', `The facilitator answered with status ${statusCode}.`);
    }
  }

  return {
    verify: (request) => ask(readVerification, 'POST', '/verify', timeouts.verifyMilliseconds, request),
    supported: () => ask(readSupported, 'GET', '/supported', timeouts.verifyMilliseconds),
    async settle(request): Promise<Settlement> {
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
  return new FacilitatorError('facilitator_unavailable', `The facilitator did not answer.${detail}`, { cause });
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}
