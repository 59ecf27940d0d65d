import type { Logger } from 'pino';
import type { Dispatcher } from 'undici';
import { AppError } from '../../errors.ts';
import { LeaseLost, leaseOf } from '../../features/payments/lease.ts';
import type { Ledger } from '../../features/payments/ledger.ts';
import { type CallEnd, MAX_CALLS, type PaidCall } from '../../features/payments/paid-calls.ts';
import type { Payment } from '../../generated/prisma/client.ts';
import { restoringIds } from '../mcp/restoring-ids.ts';
import type { PaidRoute } from '../routing/load-routes.ts';
import { refusal, type StreamedResponse } from '../upstream/gateway-response.ts';
import { type MeteredBody, meterBody } from '../upstream/request-body.ts';
import type { UpstreamSigner } from '../upstream/signature.ts';
import { streamUpstream, type UpstreamStream } from '../upstream/stream-upstream.ts';
import { BUYER_GONE, BUYER_SLOW, statusMessage, UpstreamError } from '../upstream/upstream-error.ts';
import type { PaidRequest } from './paid-request.ts';
import { paymentResponseHeaders } from './payment-response.ts';
import { BOTH_FAILED, noCallRefusal, unresolvedRefusal } from './refusals.ts';
import { LEASE_SECONDS, renewingLease } from './renew-lease.ts';
import { UPSTREAM_TIMEOUT_SECONDS } from './terms.ts';
import { upstreamRequestFor } from './upstream-request.ts';

export type StreamPaid = ReturnType<typeof createStreamPaid>;

/**
 * What a streamed response counts as, no matter how large it is. It takes about 50 KB while the buyer keeps up, and up to
 * 256 KB for the buffers between two sockets while the buyer doesn't read, which is possible for 30 seconds.
 */
export const STREAM_BYTES = 128 * 1024;

const REPEAT_ONCE = 'You were charged. Send the same request with the same payment again to retry once for free.';

/** Why the buyer doesn't have a complete response, if so. */
type CallOutcome = Pick<CallEnd, 'unservedReason' | 'message'>;

const SERVED: CallOutcome = { unservedReason: null };
const REQUEST_INVALID = 'request_invalid';
/**
 * A stream that ends for one of these reasons counts as served. Otherwise, buyers could disconnect just before a
 * response ends and get all of it again. The same applies to `BUYER_SLOW` if the buyer has got some of the body:
 * otherwise, buyers could withhold the end of one request body, and then send another.
 */
const BUYERS_REASONS: ReadonlySet<string> = new Set([BUYER_GONE, REQUEST_INVALID]);

/**
 * Calls the upstream for a payment that is already settled, and streams the response. Each payment buys one served
 * response: if a call fails before it is complete, the buyer can present the payment once more.
 *
 * A call has failed if there are no response headers, the status is 400 or higher, or the stream is cut off. It hasn't
 * failed if the buyer disconnects, stops sending the request, or reads too slowly, after the response has started.
 */
export function createStreamPaid(options: {
  ledger: Ledger;
  dispatcherOf(route: PaidRoute): Dispatcher;
  signer: UpstreamSigner;
  log: Logger;
  now: () => Date;
}) {
  const { ledger, dispatcherOf, signer, log, now } = options;

  /**
   * @param payment SETTLED. The caller has reserved `STREAM_BYTES` and has checked that the request is the one that was
   *   paid for.
   * @throws AppError if there is no response to pass on.
   */
  return async function streamPaid(
    payment: Payment,
    transactionHash: string,
    request: PaidRequest,
  ): Promise<StreamedResponse> {
    const receipt = paymentResponseHeaders(payment, { success: true, transactionHash });
    // Nobody would get the response, so the call isn't used up.
    if (request.gone.aborted) throw refusal('UNAVAILABLE', receipt);
    requireCredentials(request, receipt);
    const start = await ledger.beginCall(payment.id, LEASE_SECONDS).catch((error) => {
      if (error instanceof AppError) throw error;
      log.error({ err: error, paymentId: payment.id }, "couldn't start an upstream call");
      throw unresolvedRefusal(payment, transactionHash);
    });
    // The settlement happened but couldn't be recorded. It will be recorded soon.
    if (start.kind === 'unsettled') throw unresolvedRefusal(payment, transactionHash);
    if (start.kind !== 'begun') throw noCallRefusal(payment, transactionHash, start.kind);
    const { call } = start;
    const opened = Promise.withResolvers<Omit<StreamedResponse, 'ended'>>();
    const renewed = { extend: () => extend(call) };
    const ended = renewingLease(renewed, leaseOf(payment), async (lost) => {
      const startedAt = performance.now();
      const body = request.body && meterBody(request.body);
      // Retries must have the same body, up to the point where the upstream stopped reading.
      const facts = () => ({
        durationMs: performance.now() - startedAt,
        ...(body?.digest && { requestFingerprint: request.fingerprint(request.bodyDigest ?? body.digest) }),
      });
      const stream = await open(payment, { ...request, body }, lost).catch(async (error) => {
        log.info({ err: error, paymentId: payment.id }, 'an upstream call failed');
        await ledger.endCall(call, { ...failedOutcome(error), ...statusOf(error), ...facts() });
        throw toRefusal(error, call, receipt);
      });
      const { statusCode } = stream;
      opened.resolve({ statusCode, headers: { ...stream.headers, ...receipt }, body: stream.body });
      const outcome = await outcomeOf(stream, request);
      await ledger.endCall(call, { ...outcome, statusCode, ...facts() });
    }).catch((error) => {
      // If the end couldn't be recorded, the call's lease expires soon.
      if (!(error instanceof AppError))
        log.error({ err: error, paymentId: payment.id }, "couldn't record how an upstream call ended");
      opened.reject(error);
    });
    return { ...(await opened.promise), ended };
  };

  async function extend(call: PaidCall): Promise<void> {
    if (!(await ledger.extendCall(call, LEASE_SECONDS))) throw new LeaseLost(call.paymentId);
  }

  async function open(
    payment: Payment,
    request: PaidRequest & { body: MeteredBody | null },
    lost: AbortSignal,
  ): Promise<UpstreamStream> {
    const dispatcher = dispatcherOf(request.route);
    // If the endpoint wasn't an MCP server when the payment was made, the call can be a tool call only now.
    const stream = await streamUpstream(request.toolCallId === undefined ? dispatcher : restoringIds(dispatcher), {
      ...upstreamRequestFor(payment, request, { signer, now }),
      body: request.body,
      idleMilliseconds: (request.route.timeoutSeconds ?? UPSTREAM_TIMEOUT_SECONDS) * 1000,
      lost,
    });
    if (stream.statusCode !== 402) return stream;
    // Passing on the upstream's 402 would tell clients that this payment was rejected and make them pay someone else.
    stream.body.destroy();
    throw new UpstreamError('upstream_error', 'The API behind this endpoint requires another payment.', {
      statusCode: 402,
    });
  }

  /**
   * Waits until the buyer has the response. Returns why the call failed, if it did. A buyer with a slow connection who has
   * got nothing can retry.
   */
  async function outcomeOf({ body, ended, statusCode }: UpstreamStream, { closed }: PaidRequest): Promise<CallOutcome> {
    // In case the body was never read.
    closed.then(() => body.destroy());
    const outcome = await ended.then(() => SERVED).catch(failedOutcome);
    await closed;
    if (statusCode >= 400) return { unservedReason: 'upstream_error', message: statusMessage(statusCode) };
    const { unservedReason } = outcome;
    const isOfBuyer = unservedReason === BUYER_SLOW ? body.readableDidRead : BUYERS_REASONS.has(unservedReason ?? '');
    return isOfBuyer ? SERVED : outcome;
  }

  function toRefusal(error: unknown, { number }: PaidCall, receipt: Record<string, string>): Error {
    const advice = number < MAX_CALLS ? REPEAT_ONCE : BOTH_FAILED;
    if (error instanceof UpstreamError) {
      return refusal(error.isTimeout ? 'UPSTREAM_TIMEOUT' : 'UPSTREAM_FAILED', receipt, {
        detail: `${error.message} ${advice}`,
        cause: error,
      });
    }
    if (!(error instanceof AppError)) return error as Error;
    // The only problem with a request that the gateway can detect while sending it.
    return refusal(error.code, receipt, { detail: `The request body is too large. ${advice}`, cause: error });
  }
}

/** A call that can't be made isn't used up. The endpoint and its headers may have changed since the first call. */
function requireCredentials({ route }: PaidRequest, receipt: Record<string, string>): void {
  try {
    route.credentials();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { code, retryAfterSeconds, cause } = error;
    throw refusal(code, receipt, { retryAfterSeconds, cause });
  }
}

function failedOutcome(error: unknown): CallOutcome {
  return error instanceof UpstreamError
    ? { unservedReason: error.reason, message: error.sellerMessage }
    : { unservedReason: REQUEST_INVALID, message: (error as Error).message };
}

function statusOf(error: unknown): { statusCode?: number } {
  return error instanceof UpstreamError && error.statusCode !== undefined ? { statusCode: error.statusCode } : {};
}
