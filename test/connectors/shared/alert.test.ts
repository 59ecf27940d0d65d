import { describe, expect, test } from 'vitest';
import type { ConnectorMemory } from '../../../src/connectors/definition.ts';
import { opsgenie } from '../../../src/connectors/types/opsgenie.ts';
import { pagerduty } from '../../../src/connectors/types/pagerduty.ts';
import { drive } from '../support/drive.ts';
import { requestOf, sampleContext, sampleEvent, vendorResponse } from '../support/samples.ts';

/** As many alerts as a project with 1,000 endpoints needs. */
const MOST = 2_000;

const CASES = [
  { definition: pagerduty, config: { routingKey: '0123456789abcdef0123456789abcdef' } },
  { definition: opsgenie, config: { apiKey: '0123456789abcdef0123456789abcdef', region: 'us' as const } },
].map((one) => ({ ...one, type: one.definition.type })) as {
  definition: typeof pagerduty;
  config: never;
  type: string;
}[];

const accept = () => vendorResponse(202, { status: 'success', requestId: '1' });
const endpointOf = (number: number) => `ep_${String(number).padStart(26, '0')}`;
const timeOf = (number: number) => new Date(Date.parse('2026-01-01T00:00:00.000Z') + number * 1_000).toISOString();

function failureOf(number: number) {
  const event = sampleEvent('payment.failed');
  return {
    ...event,
    timestamp: timeOf(number),
    data: { ...event.data, endpointId: endpointOf(number) },
  } as typeof event;
}

function settlementOf(number: number) {
  const event = sampleEvent('payment.settled');
  const data = { ...event.data, endpointId: endpointOf(number) };
  return { ...event, timestamp: timeOf(number + 0.5), data } as typeof event;
}

/** What the connector remembers after it has forgotten the empty entries. */
const kept = (memory: ConnectorMemory) =>
  Object.fromEntries(Object.entries(memory).filter(([, value]) => value !== ''));

const openAlerts = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, number) => [`open:${endpointOf(number)}`, timeOf(number)]));

describe.each(CASES)('the memory of $type', ({ definition, config }) => {
  test('stays small, no matter how many endpoints have had an alert', () => {
    let memory: ConnectorMemory = openAlerts(MOST - 20);
    for (let number = MOST - 20; number < MOST + 60; number++) {
      const { announce } = requestOf(definition.build([failureOf(number)], config, sampleContext({ memory })));
      memory = { ...memory, ...announce };
      memory = kept(drive(definition, config, [failureOf(number)], accept, { memory }).memory);
      if (number % 2 === 0) memory = kept(drive(definition, config, [settlementOf(number)], accept, { memory }).memory);
    }
    expect(Object.keys(memory).length).toBeLessThanOrEqual(MOST);
    expect(memory).toHaveProperty(`open:${endpointOf(MOST + 59)}`);
    expect(memory).toHaveProperty(`closed:${endpointOf(MOST + 58)}`);
    expect(memory).toHaveProperty(`open:${endpointOf(100)}`);
    expect(memory).not.toHaveProperty(`open:${endpointOf(0)}`);
  });

  test("isn't filled further by announcements of alerts that haven't been sent", () => {
    const announce = (number: number, memory: ConnectorMemory) =>
      requestOf(definition.build([failureOf(number)], config, sampleContext({ memory }))).announce;
    expect(announce(MOST, openAlerts(MOST - 1))).toEqual({ [`open:${endpointOf(MOST)}`]: timeOf(MOST) });
    expect(announce(MOST, openAlerts(MOST))).toEqual({});
    expect(announce(7, openAlerts(MOST))).toEqual({ [`open:${endpointOf(7)}`]: timeOf(7) });
  });
});
