import { describe, expect, test } from 'vitest';
import type { ConnectorEvent } from '../../../src/connectors/definition.ts';
import { describeEvent, utcTime } from '../../../src/connectors/shared/message.ts';
import { EVENT_TYPES, type EventType } from '../../../src/events/types.ts';
import { hostileEvent } from '../support/hostile.ts';
import { HOSTILE_TEXTS, sampleContext, sampleEvent, testEvent } from '../support/samples.ts';

const TRANSACTION_HASH = `0x${'5e'.repeat(32)}`;
const describeKind = (event: ConnectorEvent) => describeEvent(event, sampleContext());
const valuesOf = (event: ConnectorEvent) =>
  Object.fromEntries(describeKind(event).facts.map(({ label, value }) => [label, value]));

describe('a message for each event type', () => {
  const TITLES: Record<EventType, [title: string, tone: string]> = {
    'payment.verified': ['Payment verified: 0.01 USDC', 'info'],
    'payment.settled': ['Payment settled: 0.01 USDC', 'success'],
    'payment.failed': ['Payment failed: insufficient funds', 'danger'],
    'customer.first_payment': ['New customer: first payment of 0.01 USDC', 'success'],
    'customer.milestone': ['Customer milestone: 0x1F98…F984 reached 100.00 USD', 'success'],
    'endpoint.created': ['Endpoint created: /weather at 0.01 USD', 'info'],
    'endpoint.pricing_changed': ['Price changed: /weather from 0.01 USD to 0.02 USD', 'warning'],
    'revenue.daily_summary': ['Daily revenue: 12.34 USD on 2026-01-02, 1204 payments, 37 customers', 'info'],
  };

  test.each(EVENT_TYPES)('has the title and tone of %s', (eventType) => {
    const { title, tone, heading, detail, eventId, at } = describeKind(sampleEvent(eventType));
    expect([title, tone]).toEqual(TITLES[eventType]);
    expect(title).toBe(`${heading}: ${detail}`);
    expect({ eventId, at }).toEqual({ eventId: 'evt_01jc9x2v5qe3w8k4m6n7p9r0st', at: '2026-01-02T03:04:05.678Z' });
  });

  test('shows a settled payment with everything needed to find it', () => {
    expect(valuesOf(sampleEvent('payment.settled'))).toEqual({
      Amount: '0.01 USDC',
      Endpoint: 'GET /weather',
      Payer: '0x1F98431c8aD98523631AE4a59f267346ea31F984',
      Network: 'Base Sepolia (test network)',
      Transaction: TRANSACTION_HASH,
      Project: 'Weather API',
    });
  });

  test('shows where and why a payment failed', () => {
    expect(valuesOf(sampleEvent('payment.failed'))).toMatchObject({
      Stage: 'settle',
      Reason: 'The payer does not hold enough of the asset.',
    });
  });

  test('shows only the host of an upstream, because its path may contain credentials', () => {
    const event = sampleEvent('endpoint.created', { upstreamUrl: 'https://u:p@api.example.com/k3y?token=t0ken' });
    expect(valuesOf(event).Upstream).toBe('api.example.com');
    expect(JSON.stringify(describeKind(event))).not.toMatch(/k3y|t0ken|u:p/);
  });

  test('shows the top two endpoints for a day', () => {
    const top = (path: string) => ({ endpointId: 'ep_1', path, totalUsd: '1', paymentCount: 1 });
    const event = sampleEvent('revenue.daily_summary', { topEndpoints: ['/a', '/b', '/c'].map(top) });
    expect(describeKind(event).facts.filter(({ label }) => label.startsWith('Top'))).toEqual([
      { label: 'Top endpoint 1', value: '/a: 1.00 USD' },
      { label: 'Top endpoint 2', value: '/b: 1.00 USD' },
    ]);
  });

  test.each([
    ['2', '2.00 USDC'],
    ['12.5', '12.50 USDC'],
    ['0.000001', '0.000001 USDC'],
  ])('formats the amount %s as %s', (amountUsd, written) => {
    expect(describeKind(sampleEvent('payment.settled', { amountUsd })).amount).toBe(written);
  });

  test('uses singular and plural', () => {
    const { title } = describeKind(sampleEvent('revenue.daily_summary', { paymentCount: 1, customerCount: 1 }));
    expect(title).toContain('1 payment, 1 customer');
  });

  test('omits unknown facts', () => {
    expect(valuesOf(sampleEvent('payment.failed', { payer: null, transactionHash: null }))).not.toHaveProperty('Payer');
    expect(valuesOf(sampleEvent('endpoint.created', { description: null }))).not.toHaveProperty('Description');
  });

  test('links to the console if its URL is known', () => {
    expect(describeKind(sampleEvent('payment.settled'))).not.toHaveProperty('url');
    const consoleUrl = 'https://console.example.com/events/evt_1';
    expect(describeEvent(sampleEvent('payment.settled'), sampleContext({ consoleUrl })).url).toBe(consoleUrl);
  });
});

describe("the link to a payment's transaction", () => {
  const linkOf = (event: ConnectorEvent, context = {}) => describeEvent(event, sampleContext(context)).transactionUrl;

  test.each([
    ['eip155:8453', `https://basescan.org/tx/${TRANSACTION_HASH}`],
    ['eip155:84532', `https://sepolia.basescan.org/tx/${TRANSACTION_HASH}`],
    ['eip155:137', `https://polygonscan.com/tx/${TRANSACTION_HASH}`],
    ['eip155:31337', undefined],
  ])('opens the block explorer for the network %s', (network, url) => {
    expect(linkOf(sampleEvent('payment.settled', { network }))).toBe(url);
    expect(linkOf(sampleEvent('customer.first_payment', { network }))).toBe(url);
  });

  test('is left out without a transaction, for a test event, and on a local chain', () => {
    expect(linkOf(sampleEvent('payment.verified'))).toBeUndefined();
    expect(linkOf(sampleEvent('payment.failed', { transactionHash: null }))).toBeUndefined();
    expect(linkOf(testEvent())).toBeUndefined();
    expect(linkOf(sampleEvent('payment.settled'), { isLocalChain: true })).toBeUndefined();
  });

  test.each(HOSTILE_TEXTS)('is left out if the transaction is not a hash: %j', (transactionHash) => {
    expect(linkOf(sampleEvent('payment.settled', { transactionHash }))).toBeUndefined();
  });
});

describe('every message', () => {
  test('omits the last facts if there are more than eight', () => {
    const failed = sampleEvent('payment.failed', { transactionHash: `0x${'5e'.repeat(32)}` }, { test: true });
    expect(describeKind(failed).facts.map(({ label }) => label)).toEqual([
      ...['Test', 'Amount', 'Endpoint', 'Stage', 'Reason', 'Payer', 'Network', 'Transaction'],
    ]);
  });

  test.each(EVENT_TYPES)('has the test mark and at most eight facts for a test event of type %s', (eventType) => {
    const { heading, facts } = describeKind(testEvent(eventType));
    expect(heading).toMatch(/^\[Test\] /);
    expect(facts[0]).toEqual({ label: 'Test', value: 'Sent manually with sample data. No payment was made.' });
    expect(facts.length).toBeLessThanOrEqual(8);
  });

  test.each(EVENT_TYPES)('keeps untrusted text in %s short, on one line, and well formed', (eventType) => {
    for (const text of HOSTILE_TEXTS) {
      const message = describeEvent(hostileEvent(eventType, text), sampleContext({ projectName: text }));
      expect(message.title.length).toBeLessThanOrEqual(150);
      expect(message.heading).toMatch(/^[A-Z][a-z ]+$/);
      for (const value of [message.title, message.detail, ...message.facts.map((fact) => fact.value)]) {
        expect(value.length).toBeLessThanOrEqual(200);
        expect(value).not.toMatch(/[\p{Cc}\u202A-\u202E]/u);
        expect(value.isWellFormed()).toBe(true);
      }
      for (const { label, value } of message.facts) {
        expect(label).toMatch(/^[A-Z][A-Za-z0-9 ()]+$/);
        expect(value).not.toBe('');
      }
    }
  });

  test('is the same on every attempt', () => {
    const event = sampleEvent('payment.settled');
    const later = sampleContext({ attemptNumber: 7, previousAttemptAmbiguous: true, now: new Date(0) });
    expect(describeEvent(event, later)).toEqual(describeEvent(event, sampleContext()));
  });
});

describe('utcTime', () => {
  test('shows the time zone and omits fractions', () => {
    expect(utcTime('2026-01-02T03:04:05.678Z')).toBe('2026-01-02 03:04:05 UTC');
  });
});
