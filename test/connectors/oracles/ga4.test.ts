import { Ajv } from 'ajv';
import { describe, expect, test } from 'vitest';
import { ga4 } from '../../../src/connectors/types/ga4.ts';
import { EVENT_TYPES } from '../../../src/events/types.ts';
import { builtJson, sampleEvent, testEvent } from '../support/samples.ts';

// Google has no library for the Measurement Protocol, so this test uses the published reference as a schema:
// https://developers.google.com/analytics/devguides/collection/protocol/ga4/reference
const NAME = '^(?!_|firebase_|ga_|google_|gtag\\.)[A-Za-z][A-Za-z0-9_]{0,39}$';
const text = { type: 'string', maxLength: 100 };
const item = {
  type: 'object',
  properties: { item_id: text, item_name: text, price: { type: 'number' }, quantity: { type: 'integer' } },
  additionalProperties: false,
};
const BODY = {
  type: 'object',
  required: ['client_id', 'events'],
  properties: {
    client_id: { type: 'string', minLength: 1 },
    user_id: { type: 'string', maxLength: 256 },
    timestamp_micros: { type: 'integer' },
    validation_behavior: { enum: ['RELAXED', 'ENFORCE_RECOMMENDATIONS'] },
    events: {
      type: 'array',
      minItems: 1,
      maxItems: 25,
      items: {
        type: 'object',
        required: ['name', 'params'],
        properties: {
          name: { type: 'string', pattern: NAME },
          params: {
            type: 'object',
            maxProperties: 25,
            properties: {
              session_id: { type: 'string', pattern: '^\\d+$' },
              engagement_time_msec: { type: 'integer', minimum: 1 },
              transaction_id: { ...text, minLength: 1 },
              value: { type: 'number' },
              currency: { type: 'string', pattern: '^[A-Z]{3}$' },
              items: { type: 'array', minItems: 1, maxItems: 200, items: item },
            },
            propertyNames: { pattern: NAME },
            additionalProperties: { type: ['string', 'number', 'boolean'], maxLength: 100 },
          },
        },
        additionalProperties: false,
      },
    },
  },
  additionalProperties: false,
};
const RESERVED_NAMES =
  'ad_activeview ad_click ad_exposure ad_query ad_reward adunit_exposure app_clear_data app_exception app_install ' +
  'app_remove app_store_refund app_update app_upgrade dynamic_link_app_open dynamic_link_app_update ' +
  'dynamic_link_first_open error firebase_campaign first_open first_visit in_app_purchase notification_dismiss ' +
  'notification_foreground notification_open notification_receive os_update session_start user_engagement';

const config = { measurementId: 'G-1A2B3C4D5E', apiSecret: 'x-YcqXVVQ6mRUUf5WmyV3g' };
const validate = new Ajv({ allowUnionTypes: true }).compile(BODY);

describe('the published reference', () => {
  test.each(EVENT_TYPES.map((eventType) => sampleEvent(eventType)).concat(testEvent()))('allows $type', (event) => {
    const body = builtJson(ga4, config, event);
    validate(body);
    expect(validate.errors).toBeNull();
    expect(RESERVED_NAMES.split(' ')).not.toContain(body.events[0].name);
  });

  test('requires purchase parameters, and payment.settled has all of them', () => {
    const [{ params }] = builtJson(ga4, config, sampleEvent('payment.settled')).events;
    expect(Object.keys(params)).toEqual(expect.arrayContaining(['transaction_id', 'value', 'currency', 'items']));
  });
});
