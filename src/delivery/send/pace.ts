import type { ConnectorDefinition, VendorLimit } from '../../connectors/definition.ts';
import type { Job } from './jobs.ts';
import { longestSecondsOf } from './send-connector.ts';

/** How fast deliveries to a destination may start. */
export type Pace = {
  /** The sustained rate in requests per second. Can be a fraction. */
  perSecond: number;
  /** How many requests may start at the same time after a pause. */
  burst: number;
  /** How many deliveries one request can carry. */
  deliveriesPerRequest: number;
  /** The maximum duration of a request, if requests must not overlap. Null if they may overlap. */
  exclusiveSeconds: number | null;
  /** The destination's own limit at the time the pace was calculated. */
  maxPerSecond: number | null;
};

/**
 * How much closer together requests may arrive than they were sent. A vendor counts arrivals, so its limit has to hold
 * for the requests sent over a slightly longer period.
 */
export const ARRIVAL_SPREAD_SECONDS = 0.2;

/**
 * A destination's pace: the lower of its own limit and its vendor's. Null if there is no limit.
 *
 * @param maxPerSecond the destination's own limit in requests per second, or null for none.
 * @param definition the connector's type; undefined for a webhook.
 */
export function paceOf(
  maxPerSecond: number | null,
  definition?: Pick<ConnectorDefinition, 'batch' | 'vendorLimit' | 'timeoutSeconds'>,
): Pace | null {
  const vendor = definition?.vendorLimit && withinLimit(definition.vendorLimit);
  const how = {
    maxPerSecond,
    deliveriesPerRequest: definition?.batch?.maxEvents ?? 1,
    exclusiveSeconds: definition?.vendorLimit?.concurrency === 1 ? longestSecondsOf(definition) : null,
  };
  if (vendor && vendor.perSecond < (maxPerSecond ?? Number.POSITIVE_INFINITY)) return { ...vendor, ...how };
  return maxPerSecond === null ? null : { perSecond: maxPerSecond, burst: 1, ...how };
}

/**
 * The fastest pace, with the given burst, at which no more than `count` requests arrive in any `perSeconds` seconds.
 */
function withinLimit({ count, perSeconds, burst = 1, requestsPerDelivery = 1 }: VendorLimit) {
  const deliveries = Math.floor(count / requestsPerDelivery);
  return { perSecond: (deliveries - burst + 1) / (perSeconds + ARRIVAL_SPREAD_SECONDS), burst };
}

/** The pace of a job's destination. Null if it has no rate limit. */
export const paceOfJob = ({ deliveries, definition }: Job): Pace | null =>
  paceOf(deliveries[0]!.maxPerSecond, definition);

export const intervalOf = ({ perSecond }: Pace): number => 1 / perSecond;

/** How long before its slot a request may start, because of the burst. */
export const burstSeconds = ({ burst, perSecond }: Pace): number => (burst - 1) / perSecond;
