import type { IncomingMessage } from 'node:http';
import type { Attempt } from '../../limits/failed-credentials.ts';
import type { PaidRoute } from '../routing/route-table.ts';
import type { GatewayResponse } from '../upstream/gateway-response.ts';
import type { Headers } from '../upstream/headers.ts';
import type { UpstreamRequest } from '../upstream/upstream.ts';
import type { PresentedPayment } from './payment-header.ts';
import type { Resource } from './terms.ts';

/** A request with a payment. */
export type PaidRequest = {
  route: PaidRoute;
  resource: Resource;
  method: string;
  /** The target at the upstream. */
  target: Pick<UpstreamRequest, 'origin' | 'path' | 'publicLocation'>;
  /** Headers for the upstream. */
  headers: Headers;
  /** The incoming request, to read the body from; null if it has no body. */
  body: IncomingMessage | null;
  payment: PresentedPayment;
  /** Why the payment doesn't meet the route's current terms. It may have met earlier terms. */
  unmet: string | undefined;
  fingerprint(bodyDigest: string | null): string;
  /** A 402 response with the terms and the reason this payment isn't accepted. */
  demand(error: string): GatewayResponse;
  /**
   * Counts a payment against its client address before verification. @throws AppError `RATE_LIMITED` after too many
   * bad payments.
   */
  reserve(): Promise<Attempt>;
  /** Called if the payment was verified but couldn't be charged because of the buyer. */
  onUnpaid(): void;
  /** Aborted when the buyer disconnects. */
  gone: AbortSignal;
  /**
   * Reserves memory for bytes of the response, or of an earlier payment's response. Returns false if there isn't enough
   * left.
   */
  hold(bytes: number, paymentId?: string): boolean;
};
