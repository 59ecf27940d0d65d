import type { DeliverySettings } from '../delivery/delivery-settings.ts';
import type { PayloadVersions } from '../events/versions.ts';
import type { PaymentRail } from '../gateway/chain/rails.ts';
import type { ResponseMemoryBounds } from '../gateway/payment/response-memory.ts';
import type { ResponsePacing } from '../gateway/upstream/response-pacing.ts';
import type { TurnOptions } from '../limits/turns.ts';
import type { ExportOptions } from '../rest/export/serve.ts';
import type { RestRoute } from '../rest/routes/route.ts';
import type { TestPayments } from '../sandbox/test-payments.ts';

/**
 * For tests: replaces parts of the service that no configuration can change. Outside tests, only the development
 * sandbox sets overrides: `rails` and `testPayments`.
 */
export type Overrides = {
  /** Loopback servers that replace vendors' hosts. Never read from stored configuration. */
  hostOverrides?: Record<string, string>;
  /** The delivery worker's settings. The API uses the same retry schedule to predict retries. */
  delivery?: Partial<DeliverySettings>;
  /** How long an operation of the API may take. */
  operationMilliseconds?: number;
  /** How often the credentials of open streams are checked, even without a notification. */
  credentialRecheckMilliseconds?: number;
  /** The clock by which tokens expire, in milliseconds since 1970. */
  tokenNow?: () => number;
  /** The gateway's wall clock. */
  now?: () => Date;
  /** The clock of the limits that this process counts itself: monotonic, in milliseconds. */
  rateLimitNow?: () => number;
  /** How long a change of a route or a host can go unnoticed by the gateway if a hint on the bus is lost. */
  maxRouteAgeMilliseconds?: number;
  /** How fast buyers must read their responses. */
  responsePacing?: ResponsePacing;
  /** How many bytes of responses the gateway may hold. */
  responseMemory?: ResponseMemoryBounds;
  /** How many paid calls to an account's origin a client address may have in progress. */
  maxCallsPerAddress?: number;
  /** How expensive documents take turns. */
  turns?: TurnOptions;
  /** How many exports may run at the same time, and how fast they must be read. */
  exports?: ExportOptions;
  /** The events' payload versions. */
  payloadVersions?: PayloadVersions;
  /** DNS servers, as `address:port`, for verifying custom hosts. */
  dnsServers?: string[];
  /** The REST API's routes. */
  routes?: readonly RestRoute[];
  /** The services that verify and settle payments. */
  rails?: readonly PaymentRail[];
  /** Buys a response from this server with test money. */
  testPayments?: TestPayments;
};
