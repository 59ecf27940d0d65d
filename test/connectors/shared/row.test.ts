import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { eventRow, payloadJson } from '../../../src/connectors/shared/row.ts';
import { SAMPLE_PAYLOADS } from '../../../src/events/samples.ts';
import { EVENT_TYPES, type EventType } from '../../../src/events/types.ts';
import { EVENT_TIME, sampleEvent, testEvent } from '../support/samples.ts';

const payer = '0x1f98431c8ad98523631ae4a59f267346ea31f984';
const blank = {
  payment_id: null,
  endpoint_id: null,
  customer: null,
  amount_usd: null,
  amount_atomic: null,
  currency: null,
  network: null,
  tx_hash: null,
};
const paid = {
  payment_id: 'pay_01jc9x2v5qe3w8k4m6n7p9r0st',
  endpoint_id: 'ep_01jc9x2v5qe3w8k4m6n7p9r0st',
  customer: payer,
  amount_usd: '0.01',
  amount_atomic: '10000',
  currency: 'USD',
  network: 'eip155:84532',
};
const transaction = `0x${'5e'.repeat(32)}`;

const rows: Record<EventType, object> = {
  'payment.verified': paid,
  'payment.settled': { ...paid, tx_hash: transaction },
  'payment.failed': paid,
  'customer.first_payment': {
    ...paid,
    amount_usd: null,
    amount_atomic: null,
    currency: null,
    tx_hash: transaction,
  },
  'customer.milestone': { payment_id: paid.payment_id, customer: payer },
  'endpoint.created': { endpoint_id: paid.endpoint_id },
  'endpoint.pricing_changed': { endpoint_id: paid.endpoint_id },
  'revenue.daily_summary': { occurred_at: '2026-01-02T23:59:59.999Z' },
};

describe('a row', () => {
  test('of a daily summary has the last millisecond of its day, also for events without the end of the day', () => {
    const occurredAt = (changes: object) => eventRow(sampleEvent('revenue.daily_summary', changes)).occurred_at;
    expect(occurredAt({ to: '2026-01-02T15:00:00.000Z' })).toBe('2026-01-02T14:59:59.999Z');
    expect(occurredAt({ to: undefined })).toBe('2026-01-02T23:59:59.999Z');
  });

  test.each(EVENT_TYPES)('has the documented columns and the whole payload of %s', (eventType) => {
    expect(eventRow(sampleEvent(eventType))).toEqual({
      event_id: 'evt_01jc9x2v5qe3w8k4m6n7p9r0st',
      kind: eventType,
      occurred_at: EVENT_TIME,
      ...blank,
      ...rows[eventType],
      payload: SAMPLE_PAYLOADS[eventType],
    });
  });

  test('has an amount only for payments, so a sum over one event type counts each payment once', () => {
    const withAmount = EVENT_TYPES.filter((eventType) => eventRow(sampleEvent(eventType)).amount_usd !== null);
    expect(withAmount).toEqual(['payment.verified', 'payment.settled', 'payment.failed']);
  });

  test('has its own kind and no amount if the event is a test', () => {
    expect(eventRow(testEvent('payment.settled'))).toMatchObject({
      kind: 'test.payment.settled',
      amount_usd: null,
      amount_atomic: null,
      currency: null,
      payload: { test: true, amountUsd: '0.01' },
    });
  });

  test('leaves an unknown payer and transaction empty', () => {
    const row = eventRow(sampleEvent('payment.failed', { payer: null, customerId: null }));
    expect(row).toMatchObject({ customer: null, tx_hash: null });
  });

  test('never contains NUL or lone surrogates, which PostgreSQL rejects', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const message = `${text}\0\ud83d`;
        const json = JSON.stringify(eventRow(sampleEvent('payment.failed', { message })));
        expect(json).not.toContain('\\u0000');
        expect(json).not.toMatch(/\\ud[89a-f]/);
      }),
    );
  });
});

describe('the payload as text', () => {
  test('is the whole payload if it fits', () => {
    expect(JSON.parse(payloadJson(SAMPLE_PAYLOADS['payment.failed'], 32_000))).toEqual(
      SAMPLE_PAYLOADS['payment.failed'],
    );
  });

  test('stays valid JSON within the limit for text of any length', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.string({ unit: 'binary', maxLength: 5000 }), { maxKeys: 8 }),
        fc.integer({ min: 20, max: 4000 }),
        (payload, maxLength) => {
          const json = payloadJson(payload, maxLength);
          expect(json.length).toBeLessThanOrEqual(maxLength);
          expect(typeof JSON.parse(json)).toBe('object');
        },
      ),
    );
  });

  test('shortens only the long text', () => {
    const payload = { reason: 'insufficient_funds', message: 'x'.repeat(10_000) };
    expect(JSON.parse(payloadJson(payload, 2000))).toEqual({
      reason: 'insufficient_funds',
      message: `${'x'.repeat(1000)}…`,
    });
  });
});
