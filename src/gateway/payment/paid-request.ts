import type { IncomingMessage } from 'node:http';
import type { Attempt } from '../../limits/failed-credentials.ts';
import type { Route } from '../routing/route-table.ts';
import type { GatewayAnswer } from '../upstream/answer.ts';
import type { Headers } from '../upstream/headers.ts';
import type { PresentedPayment } from './payment-header.ts';
import type { Resource } from './terms.ts';

/** A request that carries a payment. */
export type PaidRequest = {
  route: Route;
  resource: Resource;
  method: string;
  /** Where it goes at the upstream. */
  target: { origin: string; path: string };
  /** What the upstream gets of its headers. */
  headers: Headers;
  /** The request itself when it has a body. */
  body: IncomingMessage | null;
  payment: PresentedPayment;
  /** Why the payment does not meet the terms of the route as they are now. It may have met them once. */
  unmet: string | undefined;
  fingerprint(bodyDigest: string | null): string;
  /** The answer 402 with the terms, and why this payment is not accepted. */
  demand(error: string): GatewayAnswer;
  /** Counts a payment of its address that is about to be verified. @throws AppError `RATE_LIMITED` after too many bad ones. */
  reserve(): Promise<Attempt>;
  /** Told when the payment was verified and could not be charged in the end, for which the buyer is to blame. */
  onUnpaid(): void;
  /** Aborted when the buyer has gone. */
  gone: AbortSignal;
  /** Reserves memory for so many bytes of the answer, or of that of an earlier payment; false when there is none. */
  hold(bytes: number, paymentId?: string): boolean;
};
