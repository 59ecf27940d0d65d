import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { credentialHeaders } from '../../../src/delivery/send/webhook-credentials.ts';
import { headersInput, refusalOf } from '../../../src/features/webhooks/header-rules.ts';

const TOKEN = [..."!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"];
const token = fc.string({ unit: fc.constantFrom(...TOKEN), minLength: 1, maxLength: 100 });
const visible = fc.string({ unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)) });
const value = fc
  .array(
    visible.filter((word) => word !== ''),
    { minLength: 1, maxLength: 5 },
  )
  .map((words) => words.join(' \t'));

const faultsOf = (headers: unknown) =>
  headersInput.safeParse(headers).error?.issues.map(({ path }) => path.join('.')) ?? [];

describe('the headers of a webhook', () => {
  test('can have any name and value that HTTP allows, and are sent as they are', () => {
    fc.assert(
      fc.property(token, value, (name, text) => {
        fc.pre(refusalOf(name) === undefined);
        expect(faultsOf([{ name, value: text }])).toEqual([]);
        const sent = credentialHeaders({ headers: [{ name, value: text }], authentication: null });
        expect(Object.entries(sent)).toEqual([[name.toLowerCase(), text]]);
        expect(new Headers(Object.entries(sent)).get(name)).toBe(text);
      }),
    );
  });

  test('can’t have a name that HTTP doesn’t allow', () => {
    const other = fc
      .string({ unit: 'binary', minLength: 1, maxLength: 3 })
      .filter((text) => ![...text].every((character) => TOKEN.includes(character)));
    fc.assert(
      fc.property(token, other, token, (before, wrong, after) => {
        expect(faultsOf([{ name: before + wrong + after, value: 'x' }])).toContain('0.name');
      }),
    );
    expect(faultsOf([{ name: '', value: 'x' }])).toEqual(['0.name']);
  });

  test('can’t have a value that HTTP doesn’t allow', () => {
    const other = fc
      .string({ unit: 'binary', minLength: 1, maxLength: 3 })
      .filter((text) => /[^\t\x20-\x7e]/u.test(text));
    fc.assert(
      fc.property(fc.constantFrom('', 'a'), other, fc.constantFrom('', 'b'), (before, wrong, after) => {
        expect(faultsOf([{ name: 'X-Key', value: before + wrong + after }])).toEqual(['0.value']);
      }),
    );
    for (const text of ['', ' ', ' a', 'a ', '\ta', 'a\t', 'a\r\nwebhook-id: b']) {
      expect(faultsOf([{ name: 'X-Key', value: text }]), JSON.stringify(text)).toEqual(['0.value']);
    }
  });

  test.each([
    ...['Connection', 'keep-alive', 'Proxy-Connection', 'Proxy-Authorization', 'Proxy-Authenticate', 'TE', 'Trailer'],
    ...['Transfer-Encoding', 'Upgrade', 'HTTP2-Settings', 'Expect', 'Max-Forwards', 'Via'],
    ...['Host', 'Date', 'Content-Length', 'Content-Type', 'Content-Encoding', 'Accept-Encoding', 'User-Agent'],
    ...['traceparent', 'tracestate', 'webhook-id', 'Webhook-Timestamp', 'WEBHOOK-SIGNATURE', 'webhook-anything'],
    ...['tollgate-payload-version', 'Tollgate-Anything', 'Cookie', 'Cookie2', 'Set-Cookie'],
  ])('can’t include %s, in any spelling', (name) => {
    for (const spelling of [name, name.toLowerCase(), name.toUpperCase(), name.replaceAll('-', '_')]) {
      expect(faultsOf([{ name: spelling, value: 'x' }])).toEqual(['0.name']);
    }
    expect(faultsOf([{ name: `X-${name}`, value: 'x' }])).toEqual([]);
  });

  test('are at most 20, with at most 8,192 bytes in total', () => {
    const many = (count: number) => Array.from({ length: count }, (_, index) => ({ name: `X-${index}`, value: 'v' }));
    expect(faultsOf(many(20))).toEqual([]);
    expect(faultsOf(many(21))).toEqual(['']);
    expect(faultsOf([{ name: 'X-Key', value: 'v'.repeat(8_187) }])).toEqual([]);
    expect(faultsOf([{ name: 'X-Key', value: 'v'.repeat(8_188) }])).toEqual(['']);
  });

  test('must have different names, regardless of case', () => {
    const headers = ['X-Key', 'X-Other', 'x-key'].map((name) => ({ name, value: 'v' }));
    expect(faultsOf(headers)).toEqual(['2.name']);
  });
});
