import { describe, expect, test } from 'vitest';
import { telegram } from '../../../src/connectors/types/telegram.ts';
import { EVENT_TYPES } from '../../../src/events/types.ts';
import { hostileEvent } from '../support/hostile.ts';
import {
  accepts,
  builtJson,
  classifyContext,
  HOSTILE_TEXTS,
  requestOf,
  sampleContext,
  sampleEvent,
  testEvent,
  vendorResponse,
} from '../support/samples.ts';

const botToken = '110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1';
const config = { botToken, chatId: '-100123' };
const settled = sampleEvent('payment.settled');
const context = classifyContext(config, settled);

const migration = vendorResponse(400, {
  ok: false,
  error_code: 400,
  description: 'Bad Request: group chat was upgraded to a supergroup chat',
  parameters: { migrate_to_chat_id: -1001234567890 },
});

describe('a Telegram request', () => {
  test('sends an HTML message with the facts as code', () => {
    const withLink = sampleContext({ consoleUrl: 'https://console.example.com/e?a="1"&b' });
    const request = requestOf(telegram.build([settled], config, withLink));
    expect(request).toMatchObject({
      method: 'POST',
      url: `https://api.telegram.org/bot${botToken}/sendMessage`,
      headers: { 'content-type': 'application/json' },
    });
    expect(JSON.parse(request.body ?? '')).toEqual({
      chat_id: '-100123',
      text: [
        '<b>Payment settled</b>',
        '<code>0.01 USDC</code>',
        '',
        'Amount: <code>0.01 USDC</code>',
        'Endpoint: <code>GET /weather</code>',
        'Payer: <code>0x1F98431c8aD98523631AE4a59f267346ea31F984</code>',
        'Network: <code>Base Sepolia (test network)</code>',
        `Transaction: <code>0x${'5e'.repeat(32)}</code>`,
        'Project: <code>Weather API</code>',
        '',
        '<code>evt_01jc9x2v5qe3w8k4m6n7p9r0st</code>, 2026-01-02 03:04:05 UTC',
        `<a href="https://sepolia.basescan.org/tx/0x${'5e'.repeat(32)}">View the transaction</a>`,
        '<a href="https://console.example.com/e?a=&quot;1&quot;&amp;b">Open in the console</a>',
      ].join('\n'),
      parse_mode: 'HTML',
      link_preview_options: { is_disabled: true },
    });
  });

  test.each(EVENT_TYPES)('sends %s', (eventType) => {
    expect(telegram.supportsEvent(eventType, new Set())).toBe(true);
    expect(builtJson(telegram, config, sampleEvent(eventType)).text).toMatch(/^<b>[A-Z][a-z ]+<\/b>\n<code>/);
  });

  test.each([
    ['42', 42],
    ['1', undefined],
    [undefined, undefined],
  ])('sends to the topic %j with message_thread_id %j, even after the group has moved', (messageThreadId, sent) => {
    const settings = { ...config, messageThreadId };
    expect(builtJson(telegram, settings, settled).message_thread_id).toBe(sent);
    const moved = telegram.classify(migration, classifyContext(settings, settled));
    if (moved.kind !== 'next') throw new Error(`It was ${moved.kind}`);
    expect(JSON.parse(moved.request.body ?? '').message_thread_id).toBe(sent);
  });

  test('marks a test event', () => {
    expect(builtJson(telegram, config, testEvent()).text).toMatch(/^<b>\[Test\] Payment settled<\/b>/);
  });

  test.each(EVENT_TYPES)('shows any text in %s without mentions, links, or markup', (eventType) => {
    for (const text of HOSTILE_TEXTS) {
      const body = builtJson(telegram, config, hostileEvent(eventType, text), sampleContext({ projectName: text }));
      const outsideOfCode = body.text.replaceAll(/<code>[^<>]*<\/code>|<\/?b>/g, '');
      expect(outsideOfCode).not.toMatch(/[@#/]\w|https?:|[<>&]/);
    }
  });
});

describe('reading Telegram responses', () => {
  const refusal = (error_code: number, description: string) => ({ ok: false, error_code, description });

  test.each([
    [200, { ok: true, result: {} }, 'delivered'],
    [200, refusal(403, 'Forbidden: bot was blocked by the user'), 'pause'],
    [200, { ok: false }, 'retry'],
    [200, '<html>', 'retry'],
    [400, refusal(400, 'Bad Request: chat not found'), 'pause'],
    [400, refusal(400, 'Bad Request: PEER_ID_INVALID'), 'pause'],
    [400, refusal(400, 'Bad Request: CHANNEL_PRIVATE'), 'pause'],
    [400, refusal(400, 'Bad Request: not enough rights to send text messages to the chat'), 'pause'],
    [400, refusal(400, 'Bad Request: have no rights to send a message'), 'pause'],
    [400, refusal(400, 'Bad Request: need administrator rights in the channel chat'), 'pause'],
    [400, refusal(400, 'Bad Request: CHAT_SEND_PLAIN_FORBIDDEN'), 'pause'],
    [400, refusal(400, 'Bad Request: CHAT_WRITE_FORBIDDEN'), 'pause'],
    [400, refusal(400, 'Bad Request: TOPIC_CLOSED'), 'pause'],
    [400, refusal(400, 'Bad Request: TOPIC_DELETED'), 'pause'],
    [400, refusal(400, 'Bad Request: message thread not found'), 'pause'],
    [400, refusal(400, "Bad Request: can't parse entities: Unsupported start tag"), 'drop'],
    [400, refusal(400, 'Bad Request: message is too long'), 'drop'],
    [400, refusal(400, 'Bad Request: something new'), 'drop'],
    [401, refusal(401, 'Unauthorized'), 'pause'],
    [403, refusal(403, 'Forbidden: bot was kicked from the supergroup chat'), 'pause'],
    [403, refusal(403, 'Forbidden: bot is not a member of the channel chat'), 'pause'],
    [403, refusal(403, "Forbidden: bot can't initiate conversation with a user"), 'pause'],
    [403, refusal(403, 'Forbidden: the group chat was deleted'), 'disable'],
    [403, refusal(403, 'Forbidden: user is deactivated'), 'disable'],
    [403, refusal(403, 'Forbidden: something new'), 'pause'],
    [403, '<html>', 'pause'],
    [404, refusal(404, 'Not Found'), 'pause'],
    [404, '<html>', 'pause'],
    [429, refusal(429, 'Too Many Requests: retry after 5'), 'retry'],
    [500, refusal(500, 'Internal Server Error'), 'retry'],
    [502, '<html>', 'retry'],
  ])('classifies %i %j as %s', (statusCode, body, kind) => {
    expect(telegram.classify(vendorResponse(statusCode, body), context).kind).toBe(kind);
  });

  test.each([
    [400, 'Bad Request: TOPIC_CLOSED', /^The Telegram topic is closed\. Reopen it/],
    [400, 'Bad Request: message thread not found', /^Telegram can't find the topic/],
    [
      400,
      'Bad Request: not enough rights to send text messages to the chat',
      /^The Telegram bot can't post in this chat/,
    ],
    [403, 'Forbidden: bot was kicked from the supergroup chat', /^The Telegram bot was removed from the chat/],
    [403, 'Forbidden: the group chat was deleted', /^The Telegram chat or its user was deleted/],
  ])('explains %i %s in its own words', (statusCode, description, reason) => {
    expect(telegram.classify(vendorResponse(statusCode, refusal(statusCode, description)), context)).toMatchObject({
      reason: expect.stringMatching(reason),
    });
  });

  test('waits as long as the body or the header says', () => {
    const body = { ...refusal(429, 'Too Many Requests: retry after 35'), parameters: { retry_after: 35 } };
    expect(telegram.classify(vendorResponse(429, body), context)).toMatchObject({ afterSeconds: 35 });
    const byHeader = vendorResponse(429, '', { 'retry-after': '7' });
    expect(telegram.classify(byHeader, context)).toMatchObject({ afterSeconds: 7 });
  });

  test('never reveals the token', () => {
    const outcome = telegram.classify(vendorResponse(400, refusal(400, `Bad token ${botToken}`)), context);
    expect(JSON.stringify(outcome)).not.toContain('AAHdqTcv');
  });
});

describe('a Telegram group that became a supergroup', () => {
  test('receives the same message immediately under its new ID, which is remembered', () => {
    const outcome = telegram.classify(migration, context);
    const first = requestOf(telegram.build([settled], config, context));
    if (outcome.kind !== 'next') throw new Error(`It was ${outcome.kind}`);
    expect(outcome.request).toMatchObject({ method: 'POST', url: first.url, step: 'moved' });
    expect(JSON.parse(outcome.request.body ?? '')).toEqual({
      ...JSON.parse(first.body ?? ''),
      chat_id: '-1001234567890',
    });
    const remembering = sampleContext({ memory: { ...outcome.remember } });
    expect(builtJson(telegram, config, settled, remembering).chat_id).toBe('-1001234567890');
    expect(builtJson(telegram, { ...config, chatId: '-5' }, settled, remembering).chat_id).toBe('-5');
  });

  test("isn't followed a second time", () => {
    expect(telegram.classify(migration, { ...context, step: 'moved' }).kind).toBe('drop');
  });
});

describe('the Telegram config', () => {
  test('stores a chat ID that is a number as text', () => {
    expect(telegram.config.parse({ botToken, chatId: -1001234567890 })).toEqual({ botToken, chatId: '-1001234567890' });
  });

  test.each([
    [{ botToken, chatId: '-1001234567890' }, true],
    [{ botToken, chatId: '42' }, true],
    [{ botToken, chatId: '@my_channel' }, true],
    [{ botToken, chatId: -1001234567890 }, true],
    [{ botToken, chatId: '42', messageThreadId: '7' }, true],
    [{ botToken, chatId: '42', messageThreadId: 7 }, true],
    [{ botToken, chatId: '42', messageThreadId: '0' }, false],
    [{ botToken, chatId: '42', messageThreadId: '-7' }, false],
    [{ botToken, chatId: '42', messageThreadId: 'General' }, false],
    [{ botToken, chatId: 1.5 }, false],
    [{ botToken, chatId: 2 ** 53 }, false],
    [{ botToken, chatId: [42] }, false],
    [{ botToken, chatId: '@x' }, false],
    [{ botToken, chatId: 'my_channel' }, false],
    [{ botToken, chatId: '1 2' }, false],
    [{ botToken: `bot${botToken}`, chatId: '1' }, false],
    [{ botToken: '110201543:short', chatId: '1' }, false],
    [{ botToken: `${botToken}/../x`, chatId: '1' }, false],
    [{ botToken }, false],
    [{ chatId: '1' }, false],
    [{ botToken, chatId: '1', extra: 1 }, false],
  ])('accepts %j: %s', (value, isAccepted) => {
    expect(accepts(telegram, value)).toBe(isAccepted);
  });
});

describe('the Telegram probe', () => {
  const probe = telegram.probe!;

  test('reads the bot and then the chat', () => {
    const request = probe.build({ botToken, chatId: '@my_channel' });
    expect(request).toMatchObject({ method: 'GET', url: `https://api.telegram.org/bot${botToken}/getMe` });
    expect(probe.classify(vendorResponse(200, { ok: true }), { botToken, chatId: '@my_channel' }, 'bot')).toMatchObject(
      {
        next: {
          method: 'GET',
          url: `https://api.telegram.org/bot${botToken}/getChat?chat_id=%40my_channel`,
          step: 'chat',
        },
      },
    );
    expect(probe.classify(vendorResponse(200, { ok: true }), config, 'chat')).toMatchObject({ ok: true });
  });

  test.each([
    [401, { ok: false, error_code: 401, description: 'Unauthorized' }, 'bot', /token/],
    [400, { ok: false, error_code: 400, description: 'Bad Request: chat not found' }, 'chat', /chat/],
    [200, '<html>', 'bot', /confirming/],
  ])('%i %j fails with a reason', (statusCode, body, step, message) => {
    expect(probe.classify(vendorResponse(statusCode, body), config, step)).toEqual({
      ok: false,
      message: expect.stringMatching(message),
    });
  });
});
