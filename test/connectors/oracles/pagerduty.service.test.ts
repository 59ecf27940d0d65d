import { change, event } from '@pagerduty/pdjs';
import { expect, test } from 'vitest';
import type { ConnectorEvent } from '../../../src/connectors/definition.ts';
import { pagerduty } from '../../../src/connectors/types/pagerduty.ts';
import { startReceiver } from '../../support/receiver.ts';
import { redirectHttps } from '../support/redirect-https.ts';
import { requestOf, sampleContext, sampleEvent } from '../support/samples.ts';

const config = { routingKey: '0123456789abcdef0123456789abcdef' };
const context = sampleContext({
  consoleUrl: 'https://console.example.com/events/evt_1',
  memory: { 'open:ep_01jc9x2v5qe3w8k4m6n7p9r0st': '2026-01-02T03:00:00.000Z' },
});

test.each([
  ['trigger', sampleEvent('payment.failed'), undefined],
  ['resolve', sampleEvent('payment.settled'), undefined],
  ['change', sampleEvent('endpoint.created'), undefined],
  ['trigger in Europe', sampleEvent('payment.failed'), 'eu'],
] as const)(
  'the PagerDuty connector sends the same %s as PagerDuty’s library',
  async (_title, sample: ConnectorEvent, region) => {
    const ours = requestOf(pagerduty.build([sample], { ...config, ...(region && { region }) }, context));
    const data = JSON.parse(ours.body ?? '');
    await using receiver = await startReceiver(() => ({ statusCode: 202, body: '{"status":"success"}' }));
    using _redirection = redirectHttps(receiver.port);
    const send = sample.type === 'endpoint.created' ? change : event;
    await send({ data, ...(region && { server: 'events.eu.pagerduty.com' }) });

    const [theirs] = await receiver.waitFor(1);
    expect(theirs?.method).toBe(ours.method);
    expect(theirs?.headers.host).toBe(new URL(ours.url).host);
    expect(theirs?.path).toBe(new URL(ours.url).pathname);
    expect(theirs?.headers['content-type']).toMatch(/^application\/json\b/);
    expect(theirs?.headers.authorization).toBeUndefined();
    expect(JSON.parse(String(theirs?.body))).toEqual(data);
  },
);
