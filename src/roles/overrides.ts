import type { DeliverySettings } from '../delivery/delivery-settings.ts';
import type { PayloadVersions } from '../events/versions.ts';
import type { PaymentRails } from '../gateway/chain/rails.ts';
import type { ResponsePacing } from '../gateway/upstream/response-pacing.ts';

/**
 * For tests: replaces parts of the service that no configuration can change. Outside tests, only the development
 * sandbox sets an override, and only `rails`.
 */
export type Overrides = {
  /** Loopback servers that replace vendors' hosts. Never read from stored configuration. */
  hostOverrides?: Record<string, string>;
  /** The delivery worker's settings. The API uses the same retry schedule to predict retries. */
  delivery?: Partial<DeliverySettings>;
  /** How fast buyers must read their responses. */
  responsePacing?: ResponsePacing;
  /** The events' payload versions. */
  payloadVersions?: PayloadVersions;
  /** Where payments are verified and settled. */
  rails?: PaymentRails;
};
