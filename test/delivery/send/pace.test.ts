import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CONNECTOR_TYPES, type VendorLimit } from '../../../src/connectors/definition.ts';
import { getConnector } from '../../../src/connectors/types/registry.ts';
import { ARRIVAL_SPREAD_SECONDS, type Pace, paceOf } from '../../../src/delivery/send/pace.ts';

const DOCUMENTED = { documentationUrl: 'https://example.com' };
const perSecond = (count: number): VendorLimit => ({ count, perSeconds: 1, ...DOCUMENTED });

/** Returns the start times of deliveries, in seconds, if each is due `gaps[i]` after the one before it. */
function startsAt({ perSecond, burst }: Pace, gaps: readonly number[]): number[] {
  let due = 0;
  let arrivesAt = 0;
  return gaps.map((gap) => {
    due += gap;
    const start = Math.max(arrivesAt - (burst - 1) / perSecond, due);
    arrivesAt = Math.max(arrivesAt, start) + 1 / perSecond;
    return start;
  });
}

/** The maximum number of deliveries in any span of time. A span includes its start but not its end. */
function mostWithin(times: readonly number[], seconds: number): number {
  const inOrder = times.toSorted((a, b) => a - b);
  const counts = inOrder.map((start, index) => {
    const after = inOrder.findIndex((time, later) => later > index && time - start >= seconds - 1e-9);
    return (after < 0 ? inOrder.length : after) - index;
  });
  return Math.max(...counts, 0);
}

const LIMITS = fc
  .record({
    count: fc.integer({ min: 1, max: 30 }),
    perSeconds: fc.constantFrom(1, 2, 10, 60),
    requestsPerDelivery: fc.integer({ min: 1, max: 3 }),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  .filter(({ count, requestsPerDelivery }) => count >= requestsPerDelivery)
  .map(({ share, ...limit }): VendorLimit => {
    const most = Math.floor(limit.count / limit.requestsPerDelivery);
    return { ...limit, ...DOCUMENTED, burst: 1 + Math.floor(share * (most - 1)) };
  });
const FRACTION = fc.double({ min: 0, max: 1, noNaN: true });

describe('a pace', () => {
  test('is null without a limit', () => {
    expect(paceOf(null)).toBeNull();
    expect(paceOf(null, {})).toBeNull();
  });

  test.each([0.01, 0.33, 0.5, 1, 1000])("is a webhook's own limit of %s per second", (maxPerSecond) => {
    const pace = { perSecond: maxPerSecond, burst: 1, deliveriesPerRequest: 1, exclusiveSeconds: null, maxPerSecond };
    expect(paceOf(maxPerSecond)).toEqual(pace);
  });

  test("is a connector's own limit if it is lower than the vendor's", () => {
    const vendorLimit = { count: 20, perSeconds: 60, burst: 3, ...DOCUMENTED };
    expect(paceOf(0.2, { vendorLimit })).toMatchObject({ perSecond: 0.2, burst: 1, deliveriesPerRequest: 1 });
  });

  test.each([null, 5, 1000])("is the vendor's limit if the connector's own is %s", (maxPerSecond) => {
    const pace = paceOf(maxPerSecond, { vendorLimit: perSecond(4) })!;
    expect(pace).toMatchObject({ perSecond: 4 / (1 + ARRIVAL_SPREAD_SECONDS), burst: 1 });
  });

  test('counts a batch as one request', () => {
    const batch = { maxEvents: 500, windowSeconds: 10 };
    expect(paceOf(2, { batch })).toMatchObject({ perSecond: 2, burst: 1, deliveriesPerRequest: 500 });
  });

  test.each([null, 0.1])('says how long a request may take if requests must not overlap: %s', (maxPerSecond) => {
    const type = { vendorLimit: { ...perSecond(4), concurrency: 1 as const }, timeoutSeconds: 30 };
    // Up to five calls, and a margin.
    expect(paceOf(maxPerSecond, type)).toMatchObject({ exclusiveSeconds: 160 });
  });

  test('never exceeds a limit in any span of time, no matter when deliveries are due and how fast requests arrive', () => {
    const schedule = fc.array(fc.record({ gap: FRACTION, isLate: fc.boolean(), delay: FRACTION }), { maxLength: 100 });
    fc.assert(
      fc.property(LIMITS, schedule, (vendorLimit, deliveries) => {
        const { count, perSeconds, requestsPerDelivery = 1 } = vendorLimit;
        const gaps = deliveries.map(({ gap, isLate }) => (isLate ? gap * perSeconds : 0));
        const starts = startsAt(paceOf(null, { vendorLimit })!, gaps);
        const arrivals = starts.map((start, index) => start + deliveries[index]!.delay * ARRIVAL_SPREAD_SECONDS);
        expect(mostWithin(arrivals, perSeconds) * requestsPerDelivery).toBeLessThanOrEqual(count);
      }),
    );
  });

  test('sends a burst immediately, and then as much as the limit allows', () => {
    fc.assert(
      fc.property(LIMITS, (vendorLimit) => {
        const { count, perSeconds, burst = 1, requestsPerDelivery = 1 } = vendorLimit;
        const pace = paceOf(null, { vendorLimit })!;
        const starts = startsAt(pace, Array(100).fill(0));
        expect(starts.filter((start) => start < 1e-9)).toHaveLength(burst);
        const window = perSeconds + ARRIVAL_SPREAD_SECONDS;
        expect(mostWithin(starts, window)).toBe(Math.floor(count / requestsPerDelivery));
      }),
    );
  });
});

describe('vendor limits', () => {
  const declared = CONNECTOR_TYPES.flatMap((type) => {
    const { vendorLimit } = getConnector(type);
    return vendorLimit ? [[type, vendorLimit] as const] : [];
  });

  test('are declared where vendors document them', () => {
    expect(declared.map(([type]) => type)).toEqual([
      ...['slack', 'discord', 'resend', 'telegram', 'teams', 'zapier', 'make', 'pagerduty', 'google-sheets', 'dune'],
      ...['hubspot', 'linear', 'quickbooks', 'xero'],
    ]);
  });

  test('forbid overlapping requests where two of them would write to the same place', () => {
    const alone = declared.filter(([, { concurrency }]) => concurrency === 1);
    expect(alone.map(([type]) => type)).toEqual(['google-sheets', 'dune']);
  });

  test.each(declared)('are positive, possible, and documented for %s', (_type, vendorLimit) => {
    const { count, perSeconds, burst = 1, requestsPerDelivery = 1, documentationUrl } = vendorLimit;
    for (const number of [count, burst, requestsPerDelivery]) {
      expect(Number.isInteger(number) && number > 0, String(number)).toBe(true);
    }
    expect(perSeconds).toBeGreaterThan(0);
    expect(burst * requestsPerDelivery).toBeLessThanOrEqual(count);
    expect(new URL(documentationUrl).protocol).toBe('https:');
    expect(paceOf(null, { vendorLimit })!.perSecond).toBeGreaterThan(0);
  });
});
