import type { Readable } from 'node:stream';
import type { BuyerUsage } from '../../features/payments/steps/count.ts';
import type { CredentialAttempt } from '../../limits/failed-credentials.ts';
import type { Network } from '../chain/networks.ts';
import type { Declarations } from '../discovery/declaration.ts';
import type { PaidRoute } from '../routing/load-routes.ts';
import type { UpstreamRequest } from '../upstream/call.ts';
import type { PaidResponse } from '../upstream/gateway-response.ts';
import type { Headers } from '../upstream/headers.ts';
import type { PresentedPayment } from './payment-header.ts';
import type { BufferedResponse } from './response-memory.ts';
import type { Resource } from './terms.ts';

/** A request with a payment. */
export type PaidRequest = {
  route: PaidRoute;
  resource: Resource;
  /** How to call the endpoint, for the facilitator's catalog. */
  declarations: Declarations;
  method: string;
  /** The target at the upstream. */
  target: Pick<
    UpstreamRequest,
    'origin' | 'path' | 'publicHost' | 'publicLocation' | 'mayUseOtherSlash' | 'withhold' | 'redirectTarget'
  >;
  /** Headers for the upstream. @throws AppError `UNAVAILABLE` if the seller's headers can't be decrypted. */
  headers(): Headers;
  /** The request's body, or null if it has none. */
  body: Readable | null;
  /** The ID that the tool call has in the body, if the endpoint is an MCP server. The buyer's own ID is another one. */
  toolCallId?: string | undefined;
  payment: PresentedPayment;
  /** The network that the payment was made for. The project may no longer accept that network. */
  network: Network;
  /** Why the payment doesn't meet the route's current terms. It may have met earlier terms. */
  unmet: string | undefined;
  fingerprint(bodyDigest: string | null): string;
  /** The digest of what the buyer sent, if the whole body has been read already. Undefined if there is no body, or it hasn't. */
  bodyDigest?: string | undefined;
  /**
   * A 402 response with the terms and the reason this payment isn't accepted. If the route has become free, this is the
   * upstream's response instead.
   *
   * @param usage what the buyer has used of the project's limit, if that is the reason.
   */
  paymentRequired(error: string, usage?: BuyerUsage): PaidResponse | Promise<PaidResponse>;
  /** Looks something up once a database connection of the client address's share is free. */
  lookUp<T>(find: () => Promise<T>): Promise<T>;
  /**
   * Counts a payment against its client address before verification. @throws AppError `RATE_LIMITED` after too many
   * bad payments.
   */
  reserve(): Promise<CredentialAttempt>;
  /** Called if the payment was verified but couldn't be charged because of the buyer. */
  onUnpaid(): void;
  /** Called if the payment was verified but couldn't be charged, and it's unclear whether the buyer or the seller caused it. */
  onUnclear(): void;
  /** Called if the payment can't be charged because the API failed or responded with an error. */
  onError(): void;
  /** Aborted when the buyer disconnects. */
  gone: AbortSignal;
  /** Resolves when the response is sent, or the connection is closed. */
  closed: Promise<void>;
  /** Holds the response, or an earlier payment's response. */
  memory: BufferedResponse;
};
