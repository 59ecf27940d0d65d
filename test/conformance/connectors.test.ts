import { describe, expect, test } from 'vitest';
import type { ConnectorDefinition, ConnectorEvent, ConnectorType } from '../../src/connectors/definition.ts';
import { CONNECTOR_TYPES } from '../../src/connectors/definition.ts';
import { derivedId, derivedUuid } from '../../src/connectors/shared/derived-id.ts';
import { listConnectors } from '../../src/connectors/types/registry.ts';
import { EVENT_TYPES, type EventType } from '../../src/events/types.ts';
import { MARK, N8N_HOST, sampleConfig } from '../connectors/support/configs.ts';
import { deliver, deliveringRequest, respond } from '../connectors/support/deliver.ts';
import { CONNECTOR_ID, EVENT_TIME, sampleContext, sampleEvent } from '../connectors/support/samples.ts';
import { VENDORS } from '../connectors/support/vendors/vendors.ts';
import { checkRequest, readBody } from './connector-requests.ts';
import {
  ENDPOINT_ID,
  LOOKS_AFTER_AMBIGUOUS_TRY,
  LOOKS_BEFORE_LATER_TRY,
  MATRIX,
  MAX_BODY_BYTES,
  MONEY_FIELDS,
  MONEY_TYPES,
  SECRET_IN_URL,
  SUMMING_CATEGORIES,
  TEST_MARKS,
  WORDS,
} from './connector-tables.ts';

const wordOf = (type: ConnectorType, eventType: EventType) => MATRIX[type].split(' ')[EVENT_TYPES.indexOf(eventType)]!;
const isSupported = (definition: ConnectorDefinition, eventType: EventType) =>
  wordOf(definition.type, eventType) !== '-';

/** An alert that was opened a minute before the sample events. */
const alertOpen = { [`open:${ENDPOINT_ID}`]: new Date(Date.parse(EVENT_TIME) - 60_000).toISOString() };

function send(definition: ConnectorDefinition, event: ConnectorEvent, config = sampleConfig(definition.type)) {
  return deliver(definition, config, [event], { memory: alertOpen });
}

test('exactly the documented types exist', () => {
  expect(listConnectors().map(({ type }) => type)).toEqual(CONNECTOR_TYPES);
  expect(CONNECTOR_TYPES).toHaveLength(Object.keys(MATRIX).length);
});

describe.each(listConnectors().map((definition) => [definition.type, definition] as const))(
  '%s',
  (type, definition) => {
    const supported = EVENT_TYPES.filter((eventType) => isSupported(definition, eventType));
    const { hosts } = VENDORS[type]();
    const rules = { hosts, allowPort: false, mark: MARK, maxBodyBytes: MAX_BODY_BYTES[type] };

    test('sends exactly the event types in the matrix', () => {
      const alone = (eventType: EventType) => definition.supportsEvent(eventType, new Set([eventType]));
      const beside = (eventType: EventType) => definition.supportsEvent(eventType, new Set(EVENT_TYPES));
      expect(EVENT_TYPES.filter((eventType) => alone(eventType) || beside(eventType))).toEqual(supported);
    });

    test.each(supported)("delivers %s in the vendor's format", (eventType) => {
      for (const fields of ['required', 'all'] as const) {
        const { outcome, requests } = send(definition, sampleEvent(eventType), sampleConfig(type, fields));
        expect(outcome.kind, JSON.stringify(outcome)).toBe('delivered');
        for (const request of requests) checkRequest(request, { ...rules, secretInUrl: SECRET_IN_URL.has(type) });
        const { body = '', url } = deliveringRequest(requests);
        expect(WORDS[wordOf(type, eventType)]!(body, url), `${eventType} should be ${wordOf(type, eventType)}`).toBe(
          true,
        );
      }
    });

    test.each(supported.filter((eventType) => !['resolve', 'close'].includes(wordOf(type, eventType))))(
      'identifies the event when it delivers %s, so that duplicates can be recognized',
      (eventType) => {
        const { id } = sampleEvent(eventType);
        const { body = '', url, headers } = deliveringRequest(send(definition, sampleEvent(eventType)).requests);
        const ids = [id, derivedId(id, CONNECTOR_ID), derivedUuid(id, CONNECTOR_ID)];
        expect(ids.some((name) => [body, url, ...Object.values(headers)].join(' ').includes(name))).toBe(true);
      },
    );

    const priced = supported.filter((kind) => kind.startsWith('endpoint.'));
    test.each(priced)('delivers a price of 0 in %s', (eventType) => {
      const event = sampleEvent(eventType, {
        priceUsd: '0',
        ...(eventType !== 'endpoint.created' && { previousPriceUsd: '0' }),
      });
      const { outcome, requests } = send(definition, event);
      expect(outcome.kind, JSON.stringify(outcome)).toBe('delivered');
      for (const request of requests) checkRequest(request, { ...rules, secretInUrl: SECRET_IN_URL.has(type) });
      expect(deliveringRequest(requests).body ?? '').not.toMatch(/NaN|undefined|Infinity|-0\b/);
    });

    test.each(supported)('builds the same bytes for %s every time', (eventType) => {
      const build = (context: Parameters<typeof sampleContext>[0]) =>
        definition.build(
          [sampleEvent(eventType)],
          sampleConfig(type, 'all'),
          sampleContext({ memory: alertOpen, ...context }),
        );
      const first = build({});
      expect(build({})).toEqual(first);
      const later = { attemptNumber: 4, now: new Date(Date.parse(EVENT_TIME) + 3_600_000) };
      if (!LOOKS_BEFORE_LATER_TRY.has(type)) expect(build(later)).toEqual(first);
      else expect(build(later)).toMatchObject({ method: 'GET' });
      const ambiguous = { ...later, previousAttemptAmbiguous: true };
      if (!LOOKS_AFTER_AMBIGUOUS_TRY.has(type)) expect(build(ambiguous)).toEqual(first);
      else expect(build(ambiguous)).toMatchObject({ method: 'GET' });
    });

    test('never uses the same ID for another connector or event', () => {
      const idsOf = (event: ConnectorEvent, connectorId = CONNECTOR_ID) => {
        const { requests } = deliver(definition, sampleConfig(type), [event], { memory: alertOpen, connectorId });
        return JSON.stringify(deliveringRequest(requests));
      };
      const [kind] = supported.filter((each) => !['resolve', 'close'].includes(wordOf(type, each)));
      const other = { id: 'evt_01jc9x2v5qe3w8k4m6n7p9r0su' };
      expect(idsOf(sampleEvent(kind!, {}, other))).not.toBe(idsOf(sampleEvent(kind!)));
    });

    test.each(supported)('stays within the size limits no matter how long the text in %s is', (eventType) => {
      const { requests } = send(definition, longEvent(eventType), sampleConfig(type, 'all'));
      for (const request of requests) checkRequest(request, { ...rules, secretInUrl: SECRET_IN_URL.has(type) });
    });

    if (definition.batch)
      test('stays within the size limits with a full batch', () => {
        const events = Array.from({ length: definition.batch!.maxEvents }, (_, index) => ({
          ...longEvent('endpoint.created'),
          id: `evt_${String(index).padStart(26, '0')}`,
        }));
        const { outcome, requests } = deliver(definition, sampleConfig(type), events as [ConnectorEvent]);
        expect(outcome.kind).toBe('delivered');
        checkRequest(deliveringRequest(requests), { ...rules, secretInUrl: false });
        for (const { id } of events) expect(deliveringRequest(requests).body).toContain(id);
      });

    test.each(supported)('marks a test event of %s and reports no revenue for it', (eventType) => {
      const event = sampleEvent(eventType, {}, { test: true });
      const { outcome, requests } = send(definition, event);
      if (TEST_MARKS[type] === 'skipped') {
        expect(outcome).toMatchObject({ kind: 'skipped' });
        expect(requests).toEqual([]);
        return;
      }
      expect(outcome.kind).toBe('delivered');
      // A test alert is opened and then closed. The mark is in the request that opens it.
      const texts = requests.flatMap((request) => [...readBody(request).strings]);
      expect(texts.filter((text) => text.includes(TEST_MARKS[type]))).not.toEqual([]);
      for (const request of requests) {
        checkRequest(request, { ...rules, secretInUrl: SECRET_IN_URL.has(type) });
        if (SUMMING_CATEGORIES.has(definition.category)) expect(moneyIn(request)).toEqual([]);
      }
    });

    if (SUMMING_CATEGORIES.has(definition.category))
      test('sends summable numbers only for event types with revenue', () => {
        const withMoney = supported.filter(
          (eventType) => moneyIn(deliveringRequest(send(definition, sampleEvent(eventType)).requests)).length > 0,
        );
        expect(withMoney).toEqual(MONEY_TYPES[type]);
      });

    if (definition.probe)
      test('probes with valid requests and accepts good credentials', () => {
        const vendor = VENDORS[type]();
        for (const fields of ['required', 'all'] as const) {
          const config = sampleConfig(type, fields);
          let request = definition.probe!.build(config);
          for (let calls = 1; ; calls++) {
            checkRequest(request, { ...rules, secretInUrl: SECRET_IN_URL.has(type) || type === 'segment' });
            const outcome = definition.probe!.classify(respond(vendor, request), config, request.step ?? 'send');
            if ('next' in outcome) request = outcome.next;
            else {
              expect(outcome).toMatchObject({ ok: true });
              expect(outcome.message).toMatch(/^[A-Z].{10,200}[.!]$/s);
              break;
            }
            expect(calls).toBeLessThan(5);
          }
          if (type !== 'slack') expect(definition.probe!.build(config)).toEqual(definition.probe!.build(config));
        }
      });
  },
);

test('a self-hosted vendor is called at the host in the config', () => {
  expect(VENDORS.n8n().hosts).toEqual([N8N_HOST]);
});

const EVENT_DAY = Math.floor(Date.parse(EVENT_TIME) / 86_400_000) + 25_569;

function moneyIn(request: Parameters<typeof readBody>[0]): string[] {
  return readBody(request)
    .fields.filter(([name, value]) => (MONEY_FIELDS.has(name) && value !== null) || isSummableCell(name, value))
    .map(([name]) => name);
}

/** Sheets have no field names, so every number counts as summable, except the time: the days since 1899. */
function isSummableCell(name: string, value: unknown): boolean {
  return name === 'values' && typeof value === 'number' && Math.floor(value) !== EVENT_DAY;
}

/** An event with text that is as long as the service allows, or longer. */
function longEvent(eventType: EventType): ConnectorEvent {
  const event = sampleEvent(eventType);
  const long = (text: string) => text + '/é"<&'.repeat(400);
  const data = Object.fromEntries(
    Object.entries(event.data).map(([name, value]) => [
      name,
      /^(endpointPath|path|message|reason|description|upstreamUrl)$/.test(name) && typeof value === 'string'
        ? long(value)
        : name === 'topEndpoints'
          ? Array.from({ length: 10 }, () => ({
              endpointId: ENDPOINT_ID,
              path: long('/'),
              totalUsd: '1',
              paymentCount: 1,
            }))
          : value,
    ]),
  );
  return { ...event, data } as ConnectorEvent;
}
