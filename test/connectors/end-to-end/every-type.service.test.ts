import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CONNECTOR_TYPES, type ConnectorType } from '../../../src/connectors/definition.ts';
import { basicOf, type VendorCall } from '../support/vendors/vendor.ts';
import { type Connector, openStage, type Stage } from './stage.ts';

let stage: Stage;
const connectors = new Map<ConnectorType, Connector & { mark: string }>();

/** Event types for connectors that don't send endpoint.created, or that batch events. */
const SUBSCRIBED: Partial<Record<ConnectorType, string>> = {
  opsgenie: 'payment.failed',
  bigquery: 'customer.milestone',
  'google-sheets': 'customer.milestone',
  dune: 'customer.milestone',
  hubspot: 'customer.first_payment',
  linear: 'customer.milestone',
  quickbooks: 'revenue.daily_summary',
  xero: 'revenue.daily_summary',
};

beforeAll(async () => {
  stage = await openStage();
  for (const type of CONNECTOR_TYPES) {
    connectors.set(type, await stage.connect(type, { eventTypes: [SUBSCRIBED[type] ?? 'endpoint.created'] }));
  }
  const endpoint = await stage.user.rest<{ id: string }>('POST', `${stage.base}/endpoints`, {
    path: '/weather',
    upstreamUrl: 'https://api.example.com/weather',
    priceUsd: '0.01',
    description: 'By city',
  });
  expect(endpoint.status).toBe(201);
  const changed = await stage.user.rest('PATCH', `${stage.base}/endpoints/${endpoint.body.id}`, { priceUsd: '0.02' });
  expect(changed.status).toBe(200);
  await stage.record('payment.failed');
  await stage.record('customer.first_payment');
  await stage.record('revenue.daily_summary');
  // Old enough that the batch doesn't wait for more events.
  await stage.record('customer.milestone', {}, { secondsAgo: 600 });
});

afterAll(() => stage.close());

const json = (call: VendorCall) => JSON.parse(call.body);
const bearerOf = ({ headers }: VendorCall) => headers.authorization?.replace(/^(Bearer|GenieKey) /, '');
const wallet = '0x1f98431c8ad98523631ae4a59f267346ea31f984';

/** Expects the last call to a vendor to be the event in the vendor's format, with the connector's credential. */
const ARRIVED: Record<ConnectorType, (call: VendorCall, mark: string, eventId: string) => void> = {
  slack(call, mark) {
    expect(call.url.pathname).toContain(mark);
    expect(json(call)).toMatchObject({ text: 'Endpoint created: /weather at 0.01 USD' });
  },
  discord(call, mark, eventId) {
    expect(call.url.href).toMatch(new RegExp(`^https://discord\\.com/api/v10/webhooks/\\d+/${mark}.*\\?wait=true$`));
    expect(json(call).embeds[0]).toMatchObject({ title: 'Endpoint created', footer: { text: eventId } });
  },
  email(call, mark) {
    expect(bearerOf(call)).toContain(mark);
    const { personalizations, subject, from } = json(call);
    expect(personalizations.map(({ to }: { to: unknown }) => to)).toEqual([
      [{ email: 'ops@shop.example' }],
      [{ email: 'jane@shop.example', name: 'Doe, Jane' }],
    ]);
    expect({ subject, from }).toEqual({
      subject: 'Endpoint created: /weather at 0.01 USD',
      from: { email: 'pay@shop.example', name: 'Pay' },
    });
  },
  resend(call, mark) {
    expect(bearerOf(call)).toBe(`re_${mark}`);
    expect(call.headers['idempotency-key']).toMatch(/^[0-9a-f]{32}$/);
    expect(json(call)).toMatchObject({ to: ['ops@shop.example', 'jane@shop.example'], from: 'Pay <pay@shop.example>' });
  },
  telegram(call, mark) {
    expect(call.url.pathname).toBe(`/bot110201543:${mark}-_x/sendMessage`);
    expect(json(call)).toMatchObject({ chat_id: '-1001234567890', parse_mode: 'HTML' });
    expect(json(call).text).toMatch(/^<b>Endpoint created<\/b>\n<code>\/weather at 0\.01 USD<\/code>/);
  },
  teams(call, mark) {
    expect(call.url.search).toBe(`?api-version=1&sp=%2Ftriggers%2Fmanual%2Frun&sv=1.0&sig=${mark}-_x`);
    expect(json(call).attachments[0].content).toMatchObject({ type: 'AdaptiveCard', version: '1.4' });
  },
  twilio(call, mark, eventId) {
    expect(basicOf(call)).toBe(`AC${'0a'.repeat(16)}:${mark}+/="\\&<%`);
    expect(Object.fromEntries(new URLSearchParams(call.body))).toMatchObject({
      To: '+15558675310',
      From: '+15005550006',
      Body: `Endpoint created: /weather at 0.01 USD\n${stage.app.url}/console/projects/${stage.projectId}/events/${eventId}`,
    });
  },
  segment(call, mark) {
    expect(basicOf(call)).toBe(`${mark}:`);
    expect(json(call)).toMatchObject({ event: 'Endpoint Created', userId: stage.projectId });
  },
  mixpanel(call, mark) {
    expect(basicOf(call)).toBe(`${mark}:`);
    expect(json(call)[0]).toMatchObject({
      event: 'Endpoint Created',
      properties: { distinct_id: '', price_usd: '0.01' },
    });
  },
  amplitude(call, mark) {
    expect(json(call)).toMatchObject({ api_key: mark, events: [{ event_type: 'endpoint.created' }] });
  },
  ga4(call, mark) {
    expect(call.url.search).toBe(`?measurement_id=G-1A2B3C4D5E&api_secret=${mark}`);
    expect(json(call).events).toMatchObject([{ name: 'endpoint_created', params: { endpoint_path: '/weather' } }]);
  },
  zapier: expectEnvelope,
  n8n: expectEnvelope,
  make: expectEnvelope,
  pagerduty(call, mark) {
    expect(call.url.href).toBe('https://events.pagerduty.com/v2/change/enqueue');
    expect(json(call)).toMatchObject({
      routing_key: mark,
      payload: { summary: 'Endpoint created: /weather at 0.01 USD', source: 'Shop' },
    });
  },
  datadog(call, mark) {
    expect(call.headers['dd-api-key']).toBe(mark);
    expect(json(call)).toMatchObject({ title: 'Endpoint created: /weather at 0.01 USD', alert_type: 'info' });
  },
  opsgenie(call, mark) {
    // The first region rejected the key.
    expect(stage.vendors.callsTo('opsgenie').map(({ url }) => url.host)).toEqual([
      'api.opsgenie.com',
      'api.eu.opsgenie.com',
    ]);
    expect(bearerOf(call)).toBe(mark);
    expect(json(call)).toMatchObject({ message: 'Payment failed: insufficient funds (/weather)', priority: 'P3' });
  },
  bigquery(call, mark, eventId) {
    expect(bearerOf(call)).toContain(mark);
    expect(json(call).rows).toMatchObject([
      { insertId: eventId, json: { event_id: eventId, kind: 'customer.milestone' } },
    ]);
  },
  supabase(call, mark, eventId) {
    expect(call.headers).toMatchObject({
      apikey: `sb_secret_${mark}+/="\\&<%`,
      prefer: expect.stringContaining('ignore'),
    });
    expect(call.headers).not.toHaveProperty('authorization');
    expect(call.url.href).toContain('/rest/v1/payment_events?on_conflict=event_id');
    expect(json(call)).toMatchObject({ event_id: eventId, payload: { priceUsd: '0.01' } });
  },
  'google-sheets'(call, mark, eventId) {
    expect(bearerOf(call)).toContain(mark);
    const calls = stage.vendors.callsTo('google-sheets');
    // The connector found the sheet, wrote the heading, appended the row, and formatted its time.
    expect(calls.map(({ url }) => url.pathname.split(':').at(-1))).toEqual([
      expect.stringContaining('/spreadsheets/'),
      'batchUpdate',
      'append',
      'batchUpdate',
    ]);
    expect(calls[2]!.url.searchParams.get('valueInputOption')).toBe('RAW');
    expect(json(calls[2]!).values[0].slice(0, 2)).toEqual([eventId, 'customer.milestone']);
    expect(json(call).requests[0].repeatCell.range).toMatchObject({ sheetId: 0, startRowIndex: 1, endRowIndex: 2 });
  },
  dune(call, mark, eventId) {
    expect(call.headers['x-dune-api-key']).toContain(mark);
    expect(stage.vendors.callsTo('dune').map(({ url }) => url.pathname)).toEqual([
      '/api/v1/uploads',
      '/api/v1/uploads',
      '/api/v1/uploads/my_team/x402_events/insert',
    ]);
    expect(JSON.parse(call.body.trimEnd())).toMatchObject({ event_id: eventId, amount_usd: null });
  },
  hubspot(call, mark, eventId) {
    expect(bearerOf(call)).toContain(mark);
    // The connector created the missing properties, wrote the contact again, and then gave it a name.
    const calls = stage.vendors.callsTo('hubspot');
    expect(calls).toHaveLength(4);
    expect(json(calls[2]!).inputs).toMatchObject([
      { id: wallet, idProperty: 'x402_wallet', objectWriteTraceId: eventId },
    ]);
    expect(call).toMatchObject({ method: 'PATCH', url: { pathname: '/crm/objects/2026-03/contacts/101' } });
    expect(json(call)).toEqual({ properties: { firstname: 'Wallet', lastname: '0x1f98…f984' } });
  },
  salesforce(call, mark, eventId) {
    expect(bearerOf(call)).toContain(mark);
    expect(call).toMatchObject({
      method: 'PATCH',
      url: { pathname: `/services/data/v66.0/sobjects/X402_Event__c/Event_Id__c/${eventId}` },
    });
    expect(json(call)).toMatchObject({ Kind__c: 'endpoint.created', Amount_USD__c: null });
  },
  linear(call, mark) {
    expect(call.headers.authorization).toBe(`lin_api_${mark}+/="\\&<%`);
    expect(json(call).variables.input).toMatchObject({
      title: expect.stringMatching(/^Customer milestone: /),
      priority: 4,
    });
  },
  quickbooks(call, mark, eventId) {
    expect(bearerOf(call)).toContain(mark);
    expect(call.url.searchParams.get('minorversion')).toBe('75');
    expect(json(call)).toMatchObject({
      TxnDate: '2026-01-02',
      PrivateNote: expect.stringMatching(`^X402260102\\w{3} ${eventId}$`),
      Line: [{ Amount: 12.34 }],
    });
  },
  xero(call, mark, eventId) {
    expect(bearerOf(call)).toContain(mark);
    expect(call).toMatchObject({
      method: 'PUT',
      headers: { 'xero-tenant-id': '70784a63-d24b-46a9-a4db-0e70a274b056' },
    });
    expect(json(call).Invoices).toMatchObject([
      { Type: 'ACCREC', Status: 'DRAFT', Reference: eventId, LineItems: [{ UnitAmount: 12.34 }] },
    ]);
  },
};

function expectEnvelope(call: VendorCall, mark: string, eventId: string): void {
  expect(call.url.pathname).toContain(mark);
  expect(json(call)).toMatchObject({
    id: eventId,
    type: 'endpoint.created',
    test: false,
    projectId: stage.projectId,
    data: {
      path: '/weather',
      upstreamUrl: 'https://api.example.com/weather',
      priceUsd: '0.01',
      description: 'By city',
    },
  });
}

describe('an event', () => {
  test.each(CONNECTOR_TYPES)('reaches its vendor in the format of %s', async (type) => {
    const { id, mark } = connectors.get(type)!;
    const [delivery] = await stage.deliveriesAre(id, 'SUCCEEDED');
    const calls = stage.vendors.callsTo(type);
    ARRIVED[type](calls.at(-1)!, mark, delivery!.eventId);
    expect(delivery).toMatchObject({ attemptCount: 1, retryCount: 0, errorClass: null });
    expect(delivery!.statusCode).toBeGreaterThanOrEqual(200);
    expect(delivery!.statusCode).toBeLessThan(300);
    for (const { headers } of calls) expect(headers['user-agent']).toMatch(/^(Tollgate\/|DiscordBot )/);
    expect(await stage.connector(id)).toMatchObject({ isActive: true, pausedReason: null, failingSince: null });
  });

  test('reaches its vendor once, and its history is the same over GraphQL and REST', async () => {
    const { id } = connectors.get('slack')!;
    const query = `query ($project: ID!, $connector: ID!) {
      project(id: $project) { connector(id: $connector) { deliveries(first: 10) {
        nodes { id status eventType statusCode retryCount attempts { number statusCode responseBody } event { type data } }
      } } }
    }`;
    const { data } = await stage.user.graphql<{ project: { connector: { deliveries: { nodes: object[] } } } }>(query, {
      project: stage.projectId,
      connector: id,
    });
    const [fromRest] = await stage.deliveries(id);
    expect(data!.project.connector.deliveries.nodes).toEqual([
      {
        id: fromRest!.id,
        status: 'SUCCEEDED',
        eventType: 'ENDPOINT_CREATED',
        statusCode: 200,
        retryCount: 0,
        attempts: [{ number: 1, statusCode: 200, responseBody: 'ok' }],
        event: { type: 'ENDPOINT_CREATED', data: expect.objectContaining({ path: '/weather' }) },
      },
    ]);
    const filtered = await stage.user.rest<{ data: unknown[] }>(
      'GET',
      `${stage.base}/connectors/${id}/deliveries?status=FAILED`,
    );
    expect(filtered.body.data).toEqual([]);
  });
});
