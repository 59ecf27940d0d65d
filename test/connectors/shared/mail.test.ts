import { describe, expect, test } from 'vitest';
import { parseMailbox, renderMail, splitMailboxes } from '../../../src/connectors/shared/mail.ts';
import { describeEvent } from '../../../src/connectors/shared/message.ts';
import { HOSTILE_TEXTS, sampleContext, sampleEvent } from '../support/samples.ts';

describe('parsing a mailbox', () => {
  test.each([
    ['a@x.example', { email: 'a@x.example' }],
    ['  a+tag@sub.x.example ', { email: 'a+tag@sub.x.example' }],
    ['<a@x.example>', { email: 'a@x.example' }],
    ['Pay <a@x.example>', { email: 'a@x.example', name: 'Pay' }],
    ['"Doe, Jane" <j@x.example>', { email: 'j@x.example', name: 'Doe, Jane' }],
    ['"a \\"b\\" c" <j@x.example>', { email: 'j@x.example', name: 'a "b" c' }],
    ['Zahlung Größe <z@xn--grsse-xxa.example>', { email: 'z@xn--grsse-xxa.example', name: 'Zahlung Größe' }],
  ])('accepts %j', (text, mailbox) => {
    expect(parseMailbox(text)).toEqual(mailbox);
  });

  test.each([
    '',
    'a',
    'a@',
    '@x.example',
    'a@localhost',
    'a@x.example, b@x.example',
    'Doe, Jane <j@x.example>',
    'Pay <a@x.example> <b@x.example>',
    'a b@x.example',
    'Pay <a@x.example>\r\nBcc: v@x.example',
    '"Pay\r\nBcc: v@x.example" <a@x.example>',
    'a@x..example',
    '<script>@x.example',
    `${'a'.repeat(65)}@x.example`,
    `a@${'x.'.repeat(200)}example`,
  ])('rejects %j', (text) => {
    expect(parseMailbox(text)).toBeUndefined();
  });

  test('splits at commas outside quotes', () => {
    expect(splitMailboxes('"Doe, Jane" <j@x.example>, b@x.example,, ')).toEqual([
      '"Doe, Jane" <j@x.example>',
      'b@x.example',
    ]);
    expect(splitMailboxes('"never closed, a@x.example')).toEqual(['"never closed, a@x.example']);
  });
});

describe('an email', () => {
  const mailOf = (text: string) =>
    renderMail(
      describeEvent(
        sampleEvent('payment.failed', { message: text, reason: text, endpointPath: text }),
        sampleContext(),
      ),
    );

  test('has the same content in text and HTML', () => {
    const message = describeEvent(sampleEvent('payment.settled'), {
      ...sampleContext(),
      consoleUrl: 'https://console.example.com/e?a=1&b=2',
    });
    const { subject, text, html } = renderMail(message);
    expect(subject).toBe('Payment settled: 0.01 USDC');
    expect(text).toBe(
      [
        'Payment settled: 0.01 USDC',
        '',
        'Amount: 0.01 USDC',
        'Endpoint: GET /weather',
        'Payer: 0x1F98431c8aD98523631AE4a59f267346ea31F984',
        'Network: Base Sepolia (test network)',
        `Transaction: 0x${'5e'.repeat(32)}`,
        'Project: Weather API',
        '',
        `View the transaction: https://sepolia.basescan.org/tx/0x${'5e'.repeat(32)}`,
        'Open in the console: https://console.example.com/e?a=1&b=2',
        'Event evt_01jc9x2v5qe3w8k4m6n7p9r0st, 2026-01-02 03:04:05 UTC',
      ].join('\n'),
    );
    expect(html).toContain('href="https://console.example.com/e?a=1&amp;b=2"');
    expect(html).toContain(`href="https://sepolia.basescan.org/tx/0x${'5e'.repeat(32)}"`);
    for (const { label, value } of message.facts) {
      expect(html).toContain(`>${label}</td>`);
      expect(html).toContain(`>${value}</td>`);
    }
  });

  test.each(HOSTILE_TEXTS.map((text) => [text.slice(0, 40), text]))(
    "doesn't allow markup or headers: %j",
    (_, text) => {
      const { subject, html } = mailOf(text);
      expect(subject).not.toMatch(/[\r\n]/);
      const tags = new Set(Array.from(html.matchAll(/<\/?([a-z0-9!]+)/gi), ([, tag]) => tag!.toLowerCase()));
      expect([...tags].sort()).toEqual(['!doctype', 'body', 'div', 'h1', 'html', 'p', 'table', 'td', 'tr']);
      expect(html).not.toMatch(/ on[a-z]+="/i);
    },
  );
});
