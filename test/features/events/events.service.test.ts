import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SAMPLE_PAYLOADS } from '../../../src/events/samples.ts';
import {
  EVENT_PAYLOADS,
  EVENT_TYPE_DESCRIPTIONS,
  EVENT_TYPE_FILTERS,
  EVENT_TYPES,
  expandEventTypes,
} from '../../../src/events/types.ts';
import { eventTypesInput } from '../../../src/features/destinations/input.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { createEndpoint, createProject, type Resource } from '../../support/resources.ts';
import { openRest, type Rest } from '../../support/rest.ts';

/** The documented event types. */
const DOCUMENTED = [
  ...['payment.verified', 'payment.settled', 'payment.failed', 'customer.first_payment', 'customer.milestone'],
  ...['endpoint.created', 'endpoint.pricing_changed', 'revenue.daily_summary'],
];

test('the event types are the documented ones, and filters also accept `*`', () => {
  expect(EVENT_TYPES).toEqual(DOCUMENTED);
  expect(EVENT_TYPE_FILTERS).toEqual([...DOCUMENTED, '*']);
  for (const filter of EVENT_TYPE_FILTERS) expect(EVENT_TYPE_DESCRIPTIONS[filter]).toMatch(/^[A-Z].*\.$/);
});

test.each(EVENT_TYPES)('the sample for %s is a valid payload without unknown fields', (eventType) => {
  expect(EVENT_PAYLOADS[eventType].strict().safeParse(SAMPLE_PAYLOADS[eventType]).error).toBeUndefined();
});

test('`*` means all event types, even if there are other entries', () => {
  expect(expandEventTypes(['*'])).toEqual(new Set(EVENT_TYPES));
  expect(expandEventTypes(['payment.failed', '*'])).toEqual(new Set(EVENT_TYPES));
  expect(expandEventTypes(['payment.failed'])).toEqual(new Set(['payment.failed']));
});

test('a list of event types must not be empty or contain unknown types, and drops duplicates', () => {
  expect(eventTypesInput.parse(['*', 'payment.failed', '*'])).toEqual(['*', 'payment.failed']);
  for (const list of [[], ['nope'], ['*', 'PAYMENT.FAILED'], Array(51).fill('*'), '*', null]) {
    expect(eventTypesInput.safeParse(list).success).toBe(false);
  }
});

describe("a project's events", () => {
  let app: TestApp;
  let rest: Rest;
  let alice: TestUser;
  let base: string;

  beforeAll(async () => {
    app = await startTestApp({ env: { ROLES: 'api' } });
    rest = await openRest(app);
    alice = await app.user('alice', 'ENTERPRISE');
    ({ base } = await createProject(alice));
    for (const priceUsd of ['1', '2']) {
      const { id } = await createEndpoint(alice, base, { priceUsd });
      await rest.send(alice, 'PATCH', `${base}/endpoints/${id}`, { body: { priceUsd: '3' } });
    }
  });
  afterAll(() => app?.stop());

  const list = async (query = '') =>
    (await rest.send<{ data: Resource[] }>(alice, 'GET', `${base}/events${query}`)).body.data;

  test('are listed newest first, and can be filtered by type', async () => {
    const [created, changed] = ['endpoint.created', 'endpoint.pricing_changed'];
    expect((await list()).map(({ type }) => type)).toEqual([changed, created, changed, created]);
    expect((await list(`?eventType=${created}`)).map(({ type }) => type)).toEqual([created, created]);
    expect(await list(`?eventType=${created}&eventType=${changed}`)).toHaveLength(4);
    expect(await list('?eventType=payment.settled')).toEqual([]);
  });

  test('can be read one by one, with the payload of their type', async () => {
    for (const event of await list()) {
      const { body } = await rest.send(alice, 'GET', `${base}/events/${event.id}`);
      expect(body).toEqual(event);
      const eventType = EVENT_TYPES.find((candidate) => candidate === event.type)!;
      expect(EVENT_PAYLOADS[eventType].strict().safeParse(event.data).success).toBe(true);
    }
  });

  test('are read-only', async () => {
    for (const method of ['POST', 'PATCH', 'DELETE', 'PUT']) {
      expect((await rest.send(alice, method, `${base}/events`, { body: {} })).status).toBe(405);
    }
  });
});
