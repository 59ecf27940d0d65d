import { Api } from 'grammy';
import { expect, test } from 'vitest';
import { telegram } from '../../../src/connectors/types/telegram.ts';
import { EVENT_TYPES } from '../../../src/events/types.ts';
import { startReceiver } from '../../support/receiver.ts';
import { requestOf, sampleContext, sampleEvent } from '../support/samples.ts';

const config = { botToken: '110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1', chatId: '-1001234567890' };

test.each(EVENT_TYPES)(
  'the Telegram connector sends the same message for %s as the grammY library',
  async (eventType) => {
    const ours = requestOf(telegram.build([sampleEvent(eventType)], config, sampleContext()));
    const { chat_id, text, ...options } = JSON.parse(ours.body ?? '');
    await using receiver = await startReceiver(() => ({ body: '{"ok":true,"result":{}}' }));
    await new Api(config.botToken, { apiRoot: receiver.url }).sendMessage(chat_id, text, options);

    const [theirs] = await receiver.waitFor(1);
    expect(theirs?.method).toBe(ours.method);
    expect(theirs?.path).toBe(new URL(ours.url).pathname);
    expect(theirs?.headers['content-type']).toBe(ours.headers['content-type']);
    expect(JSON.parse(String(theirs?.body))).toEqual(JSON.parse(ours.body ?? ''));
  },
);
