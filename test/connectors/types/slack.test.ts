import { describe, expect, test } from 'vitest';
import { slack } from '../../../src/connectors/types/slack.ts';
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

const webhookUrl = 'https://hooks.slack.com/services/T012AB3CD/B045EF6GH/abcdefghijklmnopqrstuvwx';
const config = { webhookUrl };
const settled = sampleEvent('payment.settled');

type Text = { type: string; text: string; emoji?: boolean; verbatim?: boolean };
type Block = { type: string; text?: Text; fields?: Text[]; elements?: Text[] };
type Body = { text: string; blocks: Block[] };

describe('a Slack request', () => {
  test('posts blocks with the facts in two columns', () => {
    const request = requestOf(slack.build([settled], config, sampleContext({ consoleUrl: 'https://c.example/e?a&b' })));
    expect(request).toMatchObject({
      method: 'POST',
      url: webhookUrl,
      headers: { 'content-type': 'application/json' },
    });
    expect(request.headers).not.toHaveProperty('authorization');
    const label = (text: string) => ({ type: 'mrkdwn', text: `*${text}*`, verbatim: true });
    const plain = (text: string) => ({ type: 'plain_text', text, emoji: false });
    expect(JSON.parse(request.body ?? '')).toEqual({
      text: 'Payment settled: 0.01 USDC',
      unfurl_links: false,
      unfurl_media: false,
      blocks: [
        { type: 'header', text: plain('Payment settled: 0.01 USDC') },
        {
          type: 'section',
          fields: [
            ...[label('Amount'), plain('0.01 USDC'), label('Endpoint'), plain('GET /weather')],
            ...[
              label('Payer'),
              plain('0x1F98431c8aD98523631AE4a59f267346ea31F984'),
              label('Network'),
              plain('Base Sepolia (test network)'),
            ],
            ...[label('Transaction'), plain(`0x${'5e'.repeat(32)}`)],
          ],
        },
        { type: 'section', fields: [label('Project'), plain('Weather API')] },
        {
          type: 'context',
          elements: [
            {
              type: 'mrkdwn',
              verbatim: true,
              text: `evt_01jc9x2v5qe3w8k4m6n7p9r0st  ·  <!date^1767323045^{date_short_pretty} {time_secs}|2026-01-02 03:04:05 UTC>  ·  <https://sepolia.basescan.org/tx/0x${'5e'.repeat(32)}|View the transaction>  ·  <https://c.example/e?a&amp;b|Open in the console>`,
            },
          ],
        },
      ],
    });
  });

  test.each(EVENT_TYPES)('sends %s with a fallback text', (eventType) => {
    expect(slack.supportsEvent(eventType, new Set())).toBe(true);
    const body: Body = builtJson(slack, config, sampleEvent(eventType));
    expect(body.text).toBe(body.blocks[0]?.text?.text);
    expectWithinLimits(body);
  });

  test('marks a test event', () => {
    const body: Body = builtJson(slack, config, testEvent());
    expect(body.text).toMatch(/^\[Test\] /);
    expect(body.blocks[1]?.fields?.[1]?.text).toBe('Sent manually with sample data. No payment was made.');
  });

  test('sends the same bytes on every attempt', () => {
    const again = sampleContext({ attemptNumber: 5, previousAttemptAmbiguous: true, now: new Date(0) });
    expect(slack.build([settled], config, again)).toEqual(slack.build([settled], config, sampleContext()));
  });

  test.each(EVENT_TYPES)('shows any text in %s without mentions, links, or formatting', (eventType) => {
    for (const text of HOSTILE_TEXTS) {
      const context = sampleContext({ projectName: text });
      const body: Body = builtJson(slack, config, hostileEvent(eventType, text), context);
      expectWithinLimits(body);
      const texts = [body.text, ...body.blocks.flatMap((block) => textsOf(block).map((object) => object.text))];
      expect(texts.join('\n').replaceAll(/<!date\^1767323045\^[^>]*>/g, '')).not.toMatch(/[<>]/);
      for (const object of body.blocks.flatMap(textsOf)) {
        if (object.type === 'mrkdwn') expect(object.text).toMatch(/^\*[A-Z][\w ()]+\*$|^evt_/);
      }
    }
  });
});

test('Slack headers stay within their limit even if escapes make the text longer', () => {
  const body: Body = builtJson(slack, config, sampleEvent('payment.failed', { reason: '&<>'.repeat(100) }));
  expectWithinLimits(body);
  expect(body.blocks[0]?.text?.text).toMatch(/(&amp;|&lt;|&gt;)…$/);
});

describe('reading Slack responses', () => {
  const outcomeOf = (statusCode: number, body: string, headers = {}) =>
    slack.classify(vendorResponse(statusCode, body, headers), classifyContext(config, settled));

  test.each([
    [200, 'ok', 'delivered'],
    [200, 'ok\n', 'delivered'],
    [200, 'no_text', 'drop'],
    [200, 'no_service', 'disable'],
    [200, '', 'retry'],
    [200, '<html>Sign in</html>', 'retry'],
    [200, '{"ok":true}', 'retry'],
    [302, '', 'drop'],
    [400, 'invalid_payload', 'drop'],
    [400, 'invalid_blocks', 'drop'],
    [400, 'msg_blocks_too_long', 'drop'],
    [400, 'invalid_token', 'pause'],
    [400, 'user_not_found', 'disable'],
    [400, 'something_new', 'drop'],
    [403, 'action_prohibited', 'pause'],
    [403, 'posting_to_general_channel_denied', 'pause'],
    [403, 'invalid_token', 'pause'],
    [403, 'team_disabled', 'pause'],
    [404, 'no_active_hooks', 'pause'],
    [404, 'channel_not_found', 'disable'],
    [404, 'no_service', 'disable'],
    [404, 'no_team', 'disable'],
    [410, 'channel_is_archived', 'pause'],
    [429, '', 'retry'],
    [500, 'rollup_error', 'retry'],
    [503, '', 'retry'],
  ])('classifies %i %j as %s', (statusCode, body, kind) => {
    expect(outcomeOf(statusCode, body).kind).toBe(kind);
  });

  test('waits as long as Slack asks', () => {
    expect(outcomeOf(429, '', { 'retry-after': '30' })).toMatchObject({ afterSeconds: 30 });
  });

  test("never quotes text that isn't one of Slack's error codes", () => {
    expect(JSON.stringify(outcomeOf(400, `bad ${webhookUrl}`))).not.toContain('hooks.slack.com');
    expect(JSON.stringify(outcomeOf(400, 'constructor'))).toContain('HTTP 400');
  });
});

describe('the Slack config', () => {
  test.each([
    [webhookUrl, true],
    ['https://hooks.slack.com:443/services/T1/B1/x', true],
    ['https://hooks.slack-gov.com/services/T1/B1/x', true],
    ['http://hooks.slack.com/services/T1/B1/x', false],
    ['https://hooks.slack.com.evil.example/services/T1/B1/x', false],
    ['https://evil.example/services/T1/B1/x', false],
    ['https://user:pass@hooks.slack.com/services/T1/B1/x', false],
    ['https://hooks.slack.com:8443/services/T1/B1/x', false],
    ['https://hooks.slack.com/services/T1/B1/x?y=1', false],
    ['https://hooks.slack.com/services/T1/B1/x#y', false],
    ['https://hooks.slack.com/services/T1/B1', false],
    ['https://hooks.slack.com/services/T1/B1/x/../../../api', false],
    ['https://hooks.slack.com/triggers/T1/123/abc', false],
    ['https://hooks.slack.com/workflows/T1/A1/123/abc', false],
    ['', false],
  ])('accepts %s: %s', (url, isAccepted) => {
    expect(accepts(slack, { webhookUrl: url })).toBe(isAccepted);
  });

  test('requires the URL and accepts nothing else', () => {
    expect(accepts(slack, {})).toBe(false);
    expect(accepts(slack, { webhookUrl, channel: '#general' })).toBe(false);
    expect(accepts(slack, { webhookUrl: null })).toBe(false);
  });
});

describe('the Slack probe', () => {
  test("posts a body that can't become a message", () => {
    const request = slack.probe!.build(config);
    expect(request).toMatchObject({ method: 'POST', url: webhookUrl });
    expect(() => JSON.parse(request.body ?? '')).toThrow();
  });

  test.each([
    [400, 'invalid_payload', true],
    [400, 'invalid_token', false],
    [403, 'action_prohibited', false],
    [404, 'no_service', false],
    [200, 'ok', false],
    [500, '', false],
  ])('turns %i %s into ok: %s', (statusCode, body, ok) => {
    expect(slack.probe!.classify(vendorResponse(statusCode, body), config, 'send')).toMatchObject({ ok });
  });
});

function textsOf(block: Block): Text[] {
  return [...(block.text ? [block.text] : []), ...(block.fields ?? []), ...(block.elements ?? [])];
}

/** https://docs.slack.dev/reference/block-kit/blocks */
function expectWithinLimits(body: Body): void {
  expect(JSON.stringify(body.blocks).length).toBeLessThan(13_000);
  for (const block of body.blocks) {
    expect(block.fields?.length ?? 1).toBeGreaterThan(0);
    for (const { text } of textsOf(block)) {
      expect(text.length).toBeGreaterThan(0);
      expect(text.length).toBeLessThanOrEqual(block.type === 'header' ? 150 : 2000);
    }
  }
}
