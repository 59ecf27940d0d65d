import type { KnownBlock } from '@slack/types';
import { IncomingWebhook, type IncomingWebhookSendArguments } from '@slack/webhook';
import { expect, test } from 'vitest';
import { slack } from '../../../src/connectors/types/slack.ts';
import { EVENT_TYPES } from '../../../src/events/types.ts';
import { startReceiver } from '../../support/receiver.ts';
import { classifyContext, requestOf, sampleContext, sampleEvent, vendorResponse } from '../support/samples.ts';

const webhookUrl = 'https://hooks.slack.com/services/T012AB3CD/B045EF6GH/abcdefghijklmnopqrstuvwx';

test.each(EVENT_TYPES)('the Slack connector sends the same message for %s as Slack’s library', async (eventType) => {
  const context = sampleContext({ consoleUrl: 'https://console.example.com/events/evt_1' });
  const ours = requestOf(slack.build([sampleEvent(eventType)], { webhookUrl }, context));
  const message: IncomingWebhookSendArguments = JSON.parse(ours.body ?? '');
  await using receiver = await startReceiver(() => ({ body: 'ok' }));
  await new IncomingWebhook(receiver.url + new URL(ours.url).pathname).send(message);

  const [theirs] = await receiver.waitFor(1);
  expect(theirs?.method).toBe(ours.method);
  expect(theirs?.path).toBe(new URL(ours.url).pathname);
  expect(theirs?.headers['content-type']).toBe(ours.headers['content-type']);
  expect(theirs?.headers).not.toHaveProperty('authorization');
  expect(JSON.parse(String(theirs?.body))).toEqual(message);
});

test('the Slack connector builds blocks of the types that the library declares', () => {
  // The compiler checks these objects, which have the shapes that our renderer produces.
  const blocks: KnownBlock[] = [
    { type: 'header', text: { type: 'plain_text', text: 'Payment settled: 0.01 USDC', emoji: false } },
    {
      type: 'section',
      fields: [
        { type: 'mrkdwn', text: '*Amount*', verbatim: true },
        { type: 'plain_text', text: '0.01 USDC', emoji: false },
      ],
    },
    { type: 'context', elements: [{ type: 'mrkdwn', text: 'evt_1', verbatim: true }] },
  ];
  const body = JSON.parse(
    requestOf(slack.build([sampleEvent('payment.settled')], { webhookUrl }, sampleContext())).body ?? '',
  );
  const shapeOf = (value: unknown): unknown =>
    Array.isArray(value)
      ? shapeOf(value[0])
      : typeof value === 'object' && value !== null
        ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shapeOf(inner)]))
        : typeof value;
  const distinct = [body.blocks[0], body.blocks[1], body.blocks.at(-1)];
  expect(distinct.map(shapeOf)).toEqual(blocks.map(shapeOf));
  expect(distinct.map(({ type }) => type)).toEqual(blocks.map(({ type }) => type));
});

test('the Slack connector is stricter than the library, which accepts any 200', async () => {
  await using receiver = await startReceiver(() => ({ body: 'no_text' }));
  await expect(new IncomingWebhook(`${receiver.url}/services/T1/B1/x`).send({ text: 'hi' })).resolves.toBeDefined();
  const context = classifyContext({ webhookUrl }, sampleEvent('payment.settled'));
  expect(slack.classify(vendorResponse(200, 'no_text'), context).kind).toBe('drop');
});
