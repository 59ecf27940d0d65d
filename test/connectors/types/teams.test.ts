import { describe, expect, test } from 'vitest';
import { teams } from '../../../src/connectors/types/teams.ts';
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

const host = 'https://default0123456789abcdef.73.environment.api.powerplatform.com';
const path = '/powerautomate/automations/direct/workflows/09870a09879087d987987b78/triggers/manual/paths/invoke';
const query = '?api-version=1&sp=%2Ftriggers%2Fmanual%2Frun&sv=1.0&sig=fKJHT897_0987HK789687DFK7698DFDFjh989';
const webhookUrl = `${host}${path}${query}`;
const config = { webhookUrl };
const settled = sampleEvent('payment.settled');
const runs = (...inlines: object[]) => inlines.map((run) => ({ type: 'TextRun', ...run }));
const factBlock = (label: string, value: string) => ({
  type: 'RichTextBlock',
  spacing: 'Small',
  inlines: runs({ text: `${label}: `, weight: 'Bolder' }, { text: value }),
});

describe('a Teams request', () => {
  test('posts an Adaptive Card in the message that workflow templates expect', () => {
    const context = sampleContext({ consoleUrl: 'https://console.example.com/events/evt_1' });
    const request = requestOf(teams.build([settled], config, context));
    expect(request).toMatchObject({
      method: 'POST',
      url: webhookUrl,
      headers: { 'content-type': 'application/json' },
    });
    const body = JSON.parse(request.body ?? '');
    expect(body).toEqual({
      type: 'message',
      attachments: [
        { contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content: expect.anything() },
      ],
    });
    expect(body.attachments[0].content).toEqual({
      $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
      type: 'AdaptiveCard',
      version: '1.4',
      msteams: { width: 'Full' },
      body: [
        {
          type: 'Container',
          style: 'good',
          bleed: true,
          items: [
            {
              type: 'TextBlock',
              text: 'Payment settled',
              weight: 'Bolder',
              size: 'Medium',
              wrap: true,
            },
            { type: 'RichTextBlock', inlines: runs({ text: '0.01 USDC' }) },
          ],
        },
        factBlock('Amount', '0.01 USDC'),
        factBlock('Endpoint', 'GET /weather'),
        factBlock('Payer', '0x1F98431c8aD98523631AE4a59f267346ea31F984'),
        factBlock('Network', 'Base Sepolia (test network)'),
        factBlock('Transaction', `0x${'5e'.repeat(32)}`),
        factBlock('Project', 'Weather API'),
        {
          type: 'RichTextBlock',
          inlines: runs({
            text: 'evt_01jc9x2v5qe3w8k4m6n7p9r0st, 2026-01-02 03:04:05 UTC',
            isSubtle: true,
            size: 'Small',
          }),
        },
      ],
      actions: [
        { type: 'Action.OpenUrl', title: 'Open in the console', url: 'https://console.example.com/events/evt_1' },
        {
          type: 'Action.OpenUrl',
          title: 'View the transaction',
          url: `https://sepolia.basescan.org/tx/0x${'5e'.repeat(32)}`,
        },
      ],
    });
  });

  test('posts only the card if configured', () => {
    const inMessage = builtJson(teams, { webhookUrl, envelope: 'message' }, settled);
    expect(builtJson(teams, config, settled)).toEqual(inMessage);
    expect(builtJson(teams, { webhookUrl, envelope: 'card' }, settled)).toEqual(inMessage.attachments[0].content);
  });

  test("keeps the URL's query byte for byte, because it is signed", () => {
    const odd = `${host}${path}?api-version=1&sp=%2ftriggers%2Fmanual&sig=a%2Bb~c`;
    expect(requestOf(teams.build([settled], { webhookUrl: odd }, sampleContext())).url).toBe(odd);
  });

  test.each(EVENT_TYPES)('sends %s', (eventType) => {
    expect(teams.supportsEvent(eventType, new Set())).toBe(true);
    const context = sampleContext({ isLocalChain: true });
    const card = builtJson(teams, { webhookUrl, envelope: 'card' }, sampleEvent(eventType), context);
    expect(card.body[0].items[0].text).toMatch(/^[A-Z][a-z ]+$/);
    expect(card).not.toHaveProperty('actions');
  });

  test('marks a test event', () => {
    const card = builtJson(teams, { webhookUrl, envelope: 'card' }, testEvent());
    expect(card.body[0].items[0].text).toBe('[Test] Payment settled');
  });

  test.each(EVENT_TYPES)('shows any text in %s without formatting, and stays far below 28 KB', (eventType) => {
    for (const text of HOSTILE_TEXTS) {
      const context = sampleContext({ projectName: text });
      const request = requestOf(teams.build([hostileEvent(eventType, text)], config, context));
      expect(Buffer.byteLength(request.body ?? '')).toBeLessThan(20_000);
      const card = JSON.parse(request.body ?? '').attachments[0].content;
      expect(card.msteams).toEqual({ width: 'Full' });
      for (const element of [...card.body[0].items.slice(1), ...card.body.slice(1)]) {
        expect(element.type).toBe('RichTextBlock');
      }
    }
  });
});

describe('reading Teams responses', () => {
  const outcomeOf = (statusCode: number, body: string | object = '', headers = {}) =>
    teams.classify(vendorResponse(statusCode, body, headers), classifyContext(config, settled));
  const error = (code: string) => ({ error: { code, message: `About ${webhookUrl}` } });

  test.each([
    [202, '', 'delivered'],
    [200, 'done', 'delivered'],
    [400, error('TriggerInputSchemaMismatch'), 'pause'],
    [400, error('WorkflowTriggerIsNotEnabled'), 'pause'],
    [401, error('DirectApiAuthorizationRequired'), 'pause'],
    [403, '', 'pause'],
    [404, error('WorkflowNotFound'), 'disable'],
    [404, '', 'disable'],
    [429, '', 'retry'],
    [500, '', 'retry'],
    [502, error('BadGateway'), 'retry'],
    [301, '', 'drop'],
  ])('classifies %i %j as %s', (statusCode, body, kind) => {
    expect(outcomeOf(statusCode, body).kind).toBe(kind);
    expect(JSON.stringify(outcomeOf(statusCode, body))).not.toContain('powerplatform');
  });

  test('warns that an accepted message might not be posted', () => {
    expect(outcomeOf(202)).toMatchObject({ note: expect.stringContaining("doesn't report whether") });
  });

  test('waits as long as the vendor asks', () => {
    expect(outcomeOf(429, '', { 'retry-after': '12' })).toMatchObject({ afterSeconds: 12 });
  });
});

describe('the Teams config', () => {
  test.each([
    [webhookUrl, true],
    [`${host}:443${path}${query}`, true],
    [`${host}${path}/${query}`, true],
    [`${host}${path.replace('/direct/', '/direct/cu/09/')}${query}`, true],
    [`https://prod-96.westeurope.logic.azure.com:443/workflows/0123abc/triggers/manual/paths/invoke${query}`, true],
    [`${host}${path}?api-version=1`, false],
    [`${host}${path}?api-version=1&sig=`, false],
    [`http://default.73.environment.api.powerplatform.com${path}${query}`, false],
    [`https://environment.api.powerplatform.com.evil.example${path}${query}`, false],
    [`https://evil.example${path}${query}`, false],
    [`${host}/elsewhere${query}`, false],
    ['https://contoso.webhook.office.com/webhookb2/1@2/IncomingWebhook/3/4', false],
    ['https://outlook.office.com/webhook/1@2/IncomingWebhook/3/4', false],
  ])('accepts %s: %s', (url, isAccepted) => {
    expect(accepts(teams, { webhookUrl: url })).toBe(isAccepted);
  });

  test('accepts two kinds of envelope', () => {
    expect(accepts(teams, { webhookUrl, envelope: 'card' })).toBe(true);
    expect(accepts(teams, { webhookUrl, envelope: 'html' })).toBe(false);
  });

  test('has no probe, because every accepted call posts a card', () => {
    expect(teams.probe).toBeUndefined();
  });
});
