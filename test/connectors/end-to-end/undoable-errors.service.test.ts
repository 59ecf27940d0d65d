import { afterAll, beforeAll, expect, test } from 'vitest';
import { json } from '../support/vendors/vendor.ts';
import { UNDOABLE } from './refusals.ts';
import { openStage, type Stage } from './stage.ts';

let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

test.each(UNDOABLE)(
  'a %s connector pauses after %j, and sends the held events once the cause is undone',
  async (type, refusal, reason) => {
    const connector = await stage.connect(type, { eventTypes: ['payment.settled'] });
    stage.vendors.interfere(type, () => refusal);
    await stage.record('payment.settled', { paymentId: 'pay_1' });
    await expect
      .poll(() => stage.connector(connector.id))
      .toMatchObject({ isActive: true, disabledReason: null, pausedReason: expect.stringMatching(reason) });

    const calls = stage.vendors.callsTo(type).length;
    await stage.record('payment.settled', { paymentId: 'pay_2' });
    const held = await stage.deliveriesAre(connector.id, 'PENDING', 2);
    await expect
      .poll(async () => (await stage.deliveries(connector.id)).map((delivery) => delivery.reason))
      .toEqual(held.map(() => 'paused'));
    expect(stage.vendors.callsTo(type)).toHaveLength(calls);

    stage.vendors.interfere(type, undefined);
    expect((await stage.patch(connector.id, { isPaused: false })).body).toMatchObject({ pausedReason: null });
    await stage.deliveriesAre(connector.id, 'SUCCEEDED', 2);
    await stage.patch(connector.id, { isActive: false });
  },
);

test('a Twilio connector sends and is tested with an API key that can only create and read messages', async () => {
  const key = { authToken: undefined, apiKeySid: `SK${'0c'.repeat(16)}`, apiKeySecret: stage.newMark() };
  const connector = await stage.connect('twilio', { eventTypes: ['payment.settled'], config: key });
  const probe = async () =>
    (
      await stage.user.rest<{ probe: { ok: boolean; message: string } }>(
        'POST',
        `${stage.base}/connectors/${connector.id}/test`,
        {},
      )
    ).body.probe;
  expect(await probe()).toMatchObject({ ok: true });
  await stage.record('payment.settled');
  await stage.deliveriesAre(connector.id, 'SUCCEEDED');

  stage.vendors.interfere('twilio', () => json(403, { code: 70051, message: 'Authorization Failed', status: 403 }));
  expect(await probe()).toEqual({ ok: false, message: expect.stringMatching(/API key can't read messages/) });
  stage.vendors.interfere('twilio', undefined);

  const incomplete = { type: 'twilio', config: { ...connector.config, authToken: undefined, apiKeySecret: undefined } };
  const refused = await stage.user.rest<{ detail: string }>('POST', `${stage.base}/connectors`, {
    ...incomplete,
    eventTypes: ['*'],
  });
  expect(refused).toMatchObject({ status: 422, body: { detail: expect.stringContaining('apiKeySecret') } });
});

test('topics, threads, and tags reach the vendor', async () => {
  const eventTypes = ['payment.settled'];
  const topic = await stage.connect('telegram', { eventTypes, config: { messageThreadId: 42 } });
  const thread = await stage.connect('discord', { eventTypes, config: { threadId: '77' } });
  const post = await stage.connect('discord', {
    eventTypes,
    config: { threadName: 'Payment', appliedTags: ['1234567890123456780'] },
  });
  const before = stage.vendors.callsTo('discord').length;
  await stage.record('payment.settled');
  for (const { id } of [topic, thread, post]) await stage.deliveriesAre(id, 'SUCCEEDED');

  expect(JSON.parse(stage.vendors.callsTo('telegram').at(-1)!.body)).toMatchObject({ message_thread_id: 42 });
  const calls = stage.vendors.callsTo('discord').slice(before);
  const toThread = calls.find(({ url }) => url.searchParams.has('thread_id'))!;
  expect(toThread.url.searchParams.get('thread_id')).toBe('77');
  const created = calls.find(({ url }) => !url.searchParams.has('thread_id'))!;
  expect(JSON.parse(created.body)).toMatchObject({
    thread_name: 'Payment',
    applied_tags: ['1234567890123456780'],
  });
});
