import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ConnectorType } from '../../../src/connectors/definition.ts';
import { json } from '../support/vendors/vendor.ts';
import { openStage, type Stage } from './stage.ts';

let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

const google = (message: string) => json(404, { error: { code: 404, message, status: 'NOT_FOUND' } });

/** Types that write to something that the seller creates, and the vendor's response while it doesn't exist. */
const CASES: [ConnectorType, string, ReturnType<typeof json>, RegExp][] = [
  ['bigquery', 'table', google('Not found: Table p:d.events'), /^BigQuery can't find the table\. Create it/],
  [
    'google-sheets',
    'spreadsheet',
    google('Requested entity was not found.'),
    /^Google can't find the spreadsheet\. Restore it/,
  ],
  [
    'supabase',
    'table',
    json(404, { code: 'PGRST205', message: "Could not find the table 'public.payment_events' in the schema cache" }),
    /^Supabase can't find the table\. Create it/,
  ],
  [
    'salesforce',
    'object',
    json(404, [{ errorCode: 'NOT_FOUND', message: 'The requested resource does not exist' }]),
    /^Salesforce can't find the X402_Event__c object\. Create it/,
  ],
];

test.each(CASES)(
  'a %s connector pauses if its %s is missing, and sends the held events once it is back',
  async (type, _what, missing, reason) => {
    const connector = await stage.connect(type, { eventTypes: ['payment.settled'] });
    stage.vendors.interfere(type, () => missing);
    await stage.record('payment.settled', { paymentId: 'pay_1' }, { secondsAgo: 600 });
    await expect
      .poll(() => stage.connector(connector.id))
      .toMatchObject({ isActive: true, pausedReason: expect.stringMatching(reason) });

    const calls = stage.vendors.callsTo(type).length;
    await stage.record('payment.settled', { paymentId: 'pay_2' }, { secondsAgo: 600 });
    await stage.record('payment.settled', { paymentId: 'pay_3' }, { secondsAgo: 600 });
    await stage.deliveriesAre(connector.id, 'PENDING', 3);
    expect(stage.vendors.callsTo(type)).toHaveLength(calls);

    stage.vendors.interfere(type, undefined);
    expect((await stage.patch(connector.id, { isPaused: false })).body).toMatchObject({ pausedReason: null });
    await stage.deliveriesAre(connector.id, 'SUCCEEDED', 3);
    expect(await stage.connector(connector.id)).toMatchObject({ isActive: true, pausedReason: null });
  },
);
