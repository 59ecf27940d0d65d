import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ConnectorType } from '../../../src/connectors/definition.ts';
import type { EventPayload } from '../../../src/events/types.ts';
import type { VendorCall } from '../support/vendors/vendor.ts';
import { openStage, type Stage } from './stage.ts';

let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
});

afterAll(() => stage.close());

const TYPES = ['pagerduty', 'opsgenie'] as const satisfies ConnectorType[];
const KINDS = ['payment.failed', 'payment.settled'];

let endpoints = 0;
const newEndpoint = () => ({ endpointId: `ep_of_alerts_${++endpoints}` });

type Failure = Partial<EventPayload<'payment.failed'>>;
const answered = (upstreamStatusCode: number): Failure => ({
  stage: 'upstream',
  reason: 'upstream_error',
  upstreamStatusCode,
});
const TIMEOUT: Failure = { stage: 'upstream', reason: 'upstream_timeout' };
const REFUSED: Failure = { stage: 'verify', reason: 'insufficient_funds' };

/** Lists how an endpoint's alert was opened and closed, in order. */
function actionsOf(type: ConnectorType, { endpointId }: { endpointId: string }): string[] {
  return stage.vendors.callsTo(type).flatMap((call) => actionOf(call, endpointId) ?? []);
}

function actionOf({ url, body }: VendorCall, endpointId: string): string | undefined {
  if (!`${decodeURIComponent(url.pathname)} ${body}`.includes(endpointId)) return undefined;
  const { event_action: action } = JSON.parse(body || '{}');
  if (action === 'resolve' || url.pathname.endsWith('/close')) return 'close';
  return url.hostname === 'api.opsgenie.com' ? undefined : 'open';
}

describe.each(TYPES)('an alert in %s', (type) => {
  test("isn't opened by failures that buyers cause", async () => {
    const endpoint = newEndpoint();
    const connector = await stage.connect(type, { eventTypes: KINDS });
    const failures = [answered(404), answered(400), answered(429), REFUSED, answered(404)];
    for (let index = 0; index < 40; index++) {
      const failure = index % 8 === 7 ? failures[(index - 7) / 8] : undefined;
      if (failure) await stage.record('payment.failed', { ...endpoint, ...failure });
      else await stage.record('payment.settled', endpoint);
    }
    const skipped = await stage.deliveriesAre(connector.id, 'SKIPPED', 40);
    expect(
      skipped.filter(({ reason }) => reason === 'No alert was opened: the buyer caused this failure.'),
    ).toHaveLength(5);
    expect(actionsOf(type, endpoint)).toEqual([]);
    await stage.patch(connector.id, { isActive: false });
  });

  test('is opened once by repeated upstream failures and closed by the next settlement', async () => {
    const endpoint = newEndpoint();
    const connector = await stage.connect(type, { eventTypes: KINDS });
    // Delivered at the same time, so no delivery can see the others in the connector's memory.
    const failures = [answered(500), TIMEOUT, answered(503), answered(502), TIMEOUT];
    for (const failure of failures.slice(0, 4)) {
      await stage.record('payment.failed', { ...endpoint, ...failure }, { isHeldBack: true });
    }
    await stage.makeDue();
    await stage.deliveriesAre(connector.id, 'SKIPPED', 4);
    expect(actionsOf(type, endpoint)).toEqual([]);

    await stage.record('payment.failed', { ...endpoint, ...failures[4] });
    await stage.deliveriesAre(connector.id, 'SUCCEEDED', 1);
    expect(actionsOf(type, endpoint)).toEqual(['open']);
    await stage.record('payment.settled', endpoint);
    await stage.deliveriesAre(connector.id, 'SUCCEEDED', 2);
    expect(actionsOf(type, endpoint)).toEqual(['open', 'close']);

    // The failures behind the closed alert don't open a second one.
    await stage.record('payment.failed', { ...endpoint, ...TIMEOUT });
    const skipped = await stage.deliveriesAre(connector.id, 'SKIPPED', 5);
    expect(skipped.map(({ reason }) => reason)).toContain(
      'No alert is open yet: 1 of 5 upstream failures within 5 min.',
    );
    await stage.patch(connector.id, { isActive: false });
  });

  test('is opened even if the upstream failures are delivered at the same moment', async () => {
    const endpoint = newEndpoint();
    const connector = await stage.connect(type, { eventTypes: KINDS, config: { upstreamFailureCount: '3' } });
    for (let count = 0; count < 3; count++) {
      await stage.record('payment.failed', { ...endpoint, ...TIMEOUT }, { isHeldBack: true });
    }
    await stage.makeDue();
    await expect.poll(() => actionsOf(type, endpoint)).toContain('open');
    await stage.patch(connector.id, { isActive: false });
  });

  test('is opened by a single failed settlement and by an unreachable facilitator', async () => {
    for (const failure of [{}, { stage: 'verify', reason: 'facilitator_unavailable' }] as Failure[]) {
      const endpoint = newEndpoint();
      const connector = await stage.connect(type, { eventTypes: KINDS });
      await stage.record('payment.failed', { ...endpoint, ...failure });
      await stage.deliveriesAre(connector.id, 'SUCCEEDED', 1);
      expect(actionsOf(type, endpoint)).toEqual(['open']);
      await stage.patch(connector.id, { isActive: false });
    }
  });

  test('ends up closed if a payment settles before the request that opened it is retried', async () => {
    const endpoint = newEndpoint();
    const connector = await stage.connect(type, {
      eventTypes: KINDS,
      ...(type === 'opsgenie' && { config: { region: 'eu' } }),
    });
    const { promise: isSettled, resolve: release } = Promise.withResolvers<void>();
    // The alert is opened only after the request to close it, and the response gets lost.
    stage.vendors.interfereNext(type, async (_call, response, usual) => {
      await isSettled;
      usual();
      response.destroy();
      return undefined;
    });
    await stage.record('payment.failed', endpoint);
    await expect.poll(() => actionsOf(type, endpoint)).toEqual(['open']);
    await stage.record('payment.settled', endpoint);
    await stage.deliveriesAre(connector.id, 'SUCCEEDED', 1);
    release();
    await stage.deliveriesAre(connector.id, 'SUCCEEDED', 2);
    expect(actionsOf(type, endpoint)).toEqual(['open', 'close', 'close']);
    expect(Object.keys((await stage.memory(connector.id)) as object)).not.toContain(`open:${endpoint.endpointId}`);
    await stage.patch(connector.id, { isActive: false });
  });

  test('ends up closed if a payment settles while the alert is being opened', async () => {
    const endpoint = newEndpoint();
    const connector = await stage.connect(type, {
      eventTypes: KINDS,
      ...(type === 'opsgenie' && { config: { region: 'eu' } }),
    });
    const { promise: isSettled, resolve: release } = Promise.withResolvers<void>();
    stage.vendors.interfereNext(type, async (_call, _response, usual) => {
      await isSettled;
      return usual();
    });
    await stage.record('payment.failed', endpoint);
    await expect.poll(() => actionsOf(type, endpoint)).toEqual(['open']);
    await stage.record('payment.settled', endpoint);
    // For both types, the settlement is delivered before the alert is open. Opsgenie has no alert to close yet.
    await stage.deliveriesAre(connector.id, 'SUCCEEDED', 1);
    release();
    await stage.deliveriesAre(connector.id, 'SUCCEEDED', 2);
    expect(actionsOf(type, endpoint).at(-1)).toBe('close');
    expect(actionsOf(type, endpoint).filter((action) => action === 'open')).toHaveLength(1);
    expect(Object.keys((await stage.memory(connector.id)) as object)).not.toContain(`open:${endpoint.endpointId}`);
    await stage.patch(connector.id, { isActive: false });
  });
});
