import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ConnectorType } from '../../../src/connectors/definition.ts';
import type { EventType } from '../../../src/events/types.ts';
import type { TestResponse } from '../../support/receiver.ts';
import { json, type VendorCall } from '../support/vendors/vendor.ts';
import { openStage, type Stage } from './stage.ts';

let stage: Stage;

beforeAll(async () => {
  // One delivery at a time, so that held deliveries can be counted.
  stage = await openStage({ maxInFlight: 1, perDestination: 1, claimBatch: 1 });
});

afterAll(() => stage.close());

/** Responses from vendors that reject every event, with a status that blames the event. */
const CASES: [ConnectorType, EventType, () => TestResponse, RegExp][] = [
  [
    'resend',
    'payment.settled',
    () => json(422, { statusCode: 422, name: 'validation_error', message: 'Invalid `to` field' }),
    /Invalid `to` field/,
  ],
  [
    'quickbooks',
    'payment.settled',
    () => json(400, { Fault: { type: 'ValidationFault', Error: [{ code: '2010', Detail: 'Property not found' }] } }),
    /Property not found/,
  ],
  [
    'bigquery',
    'payment.settled',
    () =>
      json(400, {
        error: { code: 400, message: 'The destination table has no schema.', errors: [{ reason: 'invalid' }] },
      }),
    /The destination table has no schema/,
  ],
  [
    'xero',
    'payment.settled',
    () =>
      json(400, {
        ErrorNumber: 10,
        Elements: [{ ValidationErrors: [{ Message: 'A tracking category is required' }] }],
      }),
    /A tracking category is required/,
  ],
  [
    'salesforce',
    'payment.settled',
    () => json(400, [{ errorCode: 'REQUIRED_FIELD_MISSING', message: 'Required fields are missing: [Region__c]' }]),
    /Required fields are missing/,
  ],
  [
    'supabase',
    'payment.settled',
    () => json(400, { code: '23502', message: 'null value in column "tenant" violates not-null constraint' }),
    /violates not-null constraint/,
  ],
];

describe('a connector whose vendor rejects every event', () => {
  test.each(CASES)(
    'pauses after five rejections in a row for the same reason, and sends held deliveries once resumed: %s',
    async (type, eventType, respond, reason) => {
      const connector = await stage.connect(type, { eventTypes: [eventType] });
      stage.vendors.interfere(type, (call, _response, usual) => (call.method === 'GET' ? usual() : respond()));
      const record = (index: number) => {
        const customerId = `cus_${type}_${index}`;
        return stage.record(eventType, { paymentId: `pay_${type}_${index}`, customerId }, { isHeldBack: true });
      };
      for (let index = 0; index < 12; index++) await record(index);
      await stage.makeDue();

      const failed = await stage.deliveriesAre(connector.id, 'FAILED', 5);
      await expect
        .poll(() => stage.connector(connector.id))
        .toMatchObject({ isActive: true, pausedAt: expect.any(String), failingSince: expect.any(String) });
      const { pausedReason } = await stage.connector(connector.id);
      expect(pausedReason).toMatch(/^The last 5 deliveries were rejected for the same reason: /);
      expect(pausedReason).toMatch(reason);
      // The delivery that paused the connector also has its own reason.
      for (const { id } of failed) {
        const { reason: why, attempts } = await stage.delivery(id);
        expect(why).toMatch(reason);
        expect(attempts).toMatchObject([{ number: 1, statusCode: respond().statusCode }]);
      }
      const isHeld = async () =>
        (await stage.deliveries(connector.id)).filter(({ status, nextAttemptAt, reason: why }) => {
          return status === 'PENDING' && nextAttemptAt === null && why === 'paused';
        });
      await expect.poll(isHeld).toHaveLength(7);

      stage.vendors.interfere(type, undefined);
      const released = await stage.patch(connector.id, { isActive: true });
      expect(released.body).toMatchObject({ pausedReason: null, pausedAt: null, failingSince: null });
      await stage.deliveriesAre(connector.id, 'SUCCEEDED', 7);
      expect(await stage.deliveriesAre(connector.id, 'FAILED', 5)).toHaveLength(5);
      await stage.patch(connector.id, { isActive: false });
    },
    60_000,
  );
});

type Respond = (call: VendorCall, usual: () => TestResponse) => TestResponse;

/** Responses that blame the event, although every event would get the same response. */
const HOLDING: [ConnectorType, EventType, Respond, RegExp][] = [
  [
    'resend',
    'payment.settled',
    () => json(400, { statusCode: 400, name: 'validation_error', message: 'API key is invalid' }),
    /^Resend rejected the API key/,
  ],
  [
    'quickbooks',
    'payment.settled',
    ({ method }, usual) => {
      if (method === 'GET') return usual();
      const Detail = 'Make sure all your transactions have a VAT rate before you save.';
      return json(400, { Fault: { type: 'ValidationFault', Error: [{ code: '6000', Detail }] } });
    },
    /set the connector's tax code ID\. QuickBooks returned: Make sure all your transactions have a VAT rate/,
  ],
  [
    'hubspot',
    'customer.first_payment',
    ({ method }) => {
      if (method === 'GET') return json(200, { name: 'x402_wallet', hasUniqueValue: false });
      const message = `Unable to perform update/upsert by non-unique 0-1 property x402_wallet in portal ID 2193`;
      return json(400, { status: 'error', category: 'VALIDATION_ERROR', message });
    },
    /x402_wallet doesn't require unique values/,
  ],
];

describe('a connector that would lose every event', () => {
  test.each(HOLDING)(
    'pauses at the first event, loses none, and sends them once resumed: %s',
    async (type, eventType, respond, reason) => {
      const connector = await stage.connect(type, { eventTypes: [eventType] });
      stage.vendors.interfere(type, (call, _response, usual) => respond(call, usual));
      for (let index = 0; index < 12; index++) {
        const ids = { paymentId: `pay_held_${type}_${index}`, customerId: `cus_held_${type}_${index}` };
        await stage.record(eventType, ids, { isHeldBack: true });
      }
      await stage.makeDue();
      await expect
        .poll(() => stage.connector(connector.id))
        .toMatchObject({ isActive: true, pausedReason: expect.stringMatching(reason) });
      const held = async () =>
        (await stage.deliveries(connector.id)).filter(({ nextAttemptAt, reason: why }) => {
          return nextAttemptAt === null && why === 'paused';
        });
      await expect.poll(held).toHaveLength(12);

      stage.vendors.interfere(type, undefined);
      await stage.patch(connector.id, { isActive: true });
      await stage.deliveriesAre(connector.id, 'SUCCEEDED', 12);
      await stage.patch(connector.id, { isActive: false });
    },
    60_000,
  );
});
