import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseProjectAllow } from '../../../src/config/project-allow.ts';
import { parseEgressAllow } from '../../../src/egress/allow-list.ts';
import { upstreamHeaderList, upstreamRefusalOf } from '../../../src/features/headers/upstream-headers.ts';
import { isUnder, urlPrefixInput } from '../../../src/features/headers/url-prefix.ts';
import { createUpstreamUrls } from '../../../src/features/urls/project-url.ts';
import { withCredentials } from '../../../src/gateway/upstream/credentials.ts';

const TOKEN = [..."!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"];
const token = fc.string({ unit: fc.constantFrom(...TOKEN), minLength: 1, maxLength: 100 });
const visible = fc.string({
  unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
  minLength: 1,
});
const value = fc.array(visible, { minLength: 1, maxLength: 5 }).map((words) => words.join(' \t'));

const faultsOf = (headers: unknown) =>
  upstreamHeaderList.safeParse(headers).error?.issues.map(({ path }) => path.join('.')) ?? [];

describe('the headers that a seller adds for an upstream', () => {
  test('can have any name and value that HTTP allows, and replace the buyer’s, no matter how they are spelled', () => {
    fc.assert(
      fc.property(token, value, (name, text) => {
        fc.pre(upstreamRefusalOf(name) === undefined);
        expect(faultsOf([{ name, value: text }])).toEqual([]);
        const own = { [name.toLowerCase()]: text };
        const ofBuyer = { [name.toLowerCase()]: 'forged', [name.toLowerCase().replaceAll('-', '_')]: 'forged' };
        const { accept, ...sent } = withCredentials({ ...ofBuyer, accept: 'text/plain' }, { headers: own });
        fc.pre(name.toLowerCase() !== 'accept');
        expect(accept).toBe('text/plain');
        expect(sent).toEqual(own);
        expect(new Headers(Object.entries(own)).get(name)).toBe(text);
      }),
    );
  });

  test('can’t have a name or a value that HTTP doesn’t allow', () => {
    const binary = fc.string({ unit: 'binary', minLength: 1, maxLength: 3 });
    const notToken = binary.filter((text) => ![...text].every((character) => TOKEN.includes(character)));
    const notVisible = binary.filter((text) => /[^\t\x20-\x7e]/u.test(text));
    fc.assert(
      fc.property(token, notToken, token, (before, wrong, after) => {
        expect(faultsOf([{ name: before + wrong + after, value: 'x' }])).toContain('0.name');
      }),
    );
    fc.assert(
      fc.property(notVisible, (wrong) => {
        expect(faultsOf([{ name: 'X-Key', value: `a${wrong}b` }])).toEqual(['0.value']);
      }),
    );
    for (const text of ['', ' a', 'a ', 'a\r\nHost: b']) {
      expect(faultsOf([{ name: 'X-Key', value: text }])).toEqual(['0.value']);
    }
  });

  test.each([
    ...['Connection', 'Keep-Alive', 'Proxy-Connection', 'Proxy-Authorization', 'TE', 'Trailer', 'Transfer-Encoding'],
    ...['Upgrade', 'HTTP2-Settings', 'Expect', 'Max-Forwards', 'Via', 'Host', 'Content-Length', 'Content-Type'],
    ...['Content-Encoding', 'Accept-Encoding', 'Date', 'X-Payment', 'X-Payment-Response', 'Payment-Signature'],
    ...['Payment-Required', 'Forwarded', 'X-Forwarded-For', 'X-Forwarded-Host', 'X-Forwarded-Anything', 'traceparent'],
    ...['tracestate', 'Tollgate-Signature', 'Tollgate-Payer', 'Tollgate-Anything', 'X-Tollgate-Payer'],
    ...['X-Original-URL', 'X-Rewrite-URL', 'X-HTTP-Method-Override', 'X-Method-Override', 'X-Host', 'X-Accel-Redirect'],
  ])('can’t include %s, in any spelling', (name) => {
    for (const spelling of [name, name.toLowerCase(), name.toUpperCase(), name.replaceAll('-', '_')]) {
      expect(faultsOf([{ name: spelling, value: 'x' }]), spelling).toEqual(['0.name']);
    }
  });

  test.each([
    ...['Authorization', 'X-Api-Key', 'api-key', 'Ocp-Apim-Subscription-Key', 'X-RapidAPI-Key', 'X-RapidAPI-Host'],
    ...['x-goog-api-key', 'anthropic-version', 'Cookie', 'User-Agent', 'Accept', 'apikey', 'X-Auth-Token'],
  ])('can include %s', (name) => {
    expect(faultsOf([{ name, value: 'x' }])).toEqual([]);
  });

  test('are at most 20, with at most 8,192 bytes in total and different names', () => {
    const many = (count: number) => Array.from({ length: count }, (_, index) => ({ name: `X-${index}`, value: 'v' }));
    expect(faultsOf(many(20))).toEqual([]);
    expect(faultsOf(many(21))).toEqual(['']);
    expect(faultsOf([{ name: 'X-Key', value: 'v'.repeat(8_187) }])).toEqual([]);
    expect(faultsOf([{ name: 'X-Key', value: 'v'.repeat(8_188) }])).toEqual(['']);
    expect(faultsOf([...many(1), { name: 'x-0', value: 'v' }])).toEqual(['1.name']);
  });
});

describe('the URL of a project’s upstream header', () => {
  const input = urlPrefixInput(createUpstreamUrls(parseProjectAllow('', parseEgressAllow(''))));
  const prefixOf = (text: string) => input.safeParse(text).data;

  test.each([
    ['https://api.example.com', 'https://api.example.com'],
    ['https://API.example.com:443/', 'https://api.example.com'],
    ['https://api.example.com/v1/', 'https://api.example.com/v1'],
    ['https://api.example.com/v2/../v1', 'https://api.example.com/v1'],
    ['https://api.example.com:8443/v1', 'https://api.example.com:8443/v1'],
  ])('%s is stored as %s', (written, stored) => {
    expect(prefixOf(written)).toBe(stored);
  });

  test.each([
    ...['', 'api.example.com', 'ftp://api.example.com', 'http://api.example.com', 'https://10.0.0.1/'],
    ...['https://user@api.example.com', 'https://api.example.com/?key=1', 'https://api.example.com/#a'],
    ...['https://api.example.com/••••', 'https://api.example.com/a%2fb', 'https://api.example.com/a;b'],
  ])('%s is rejected', (written) => {
    expect(input.safeParse(written).success).toBe(false);
  });

  test.each([
    ['https://api.example.com', 'https://api.example.com/any/path?key=1', true],
    ['https://api.example.com', 'https://API.example.com:443', true],
    ['https://api.example.com/v1', 'https://api.example.com/v1', true],
    ['https://api.example.com/v1', 'https://api.example.com/v1/', true],
    ['https://api.example.com/v1', 'https://api.example.com/v1?x=1', true],
    ['https://api.example.com/v1', 'https://api.example.com/v1/:id/*', true],
    ['https://api.example.com/v1', 'https://api.example.com/v10', false],
    ['https://api.example.com/v1', 'https://api.example.com/', false],
    ['https://api.example.com/v1', 'https://api.example.com/:v1', false],
    ['https://api.example.com/v1', 'https://api.example.com/V1', false],
    ['https://api.example.com/v1', 'https://api.example.com/v1/../v2', false],
    ['https://api.example.com/v1', 'https://api.example.com/v1/%2e%2e/v2', false],
    ['https://api.example.com/v1', 'https://api.example.com/v1/..%2fv2', false],
    ['https://api.example.com/v1', 'https://api.example.com/v1/..%5cv2', false],
    // Overlong UTF-8, escapes of UTF-16 units, and control characters, after which some servers ignore the rest.
    ['https://api.example.com/v1', 'https://api.example.com/v1/%c0%ae%C0%AE/v2', false],
    ['https://api.example.com/v1', 'https://api.example.com/v1/..%c1%9cv2', false],
    ['https://api.example.com/v1', 'https://api.example.com/v1/%e0%80%ae%e0%80%ae/v2', false],
    ['https://api.example.com/v1', 'https://api.example.com/v1/%f0%80%80%ae./v2', false],
    ['https://api.example.com/v1', 'https://api.example.com/v1/%u002e%u002e/v2', false],
    ['https://api.example.com/v1', 'https://api.example.com/v1/..%00/v2', false],
    ['https://api.example.com/v1', 'https://api.example.com/v1/.%0a./v2', false],
    ['https://api.example.com/v1', 'https://api.example.com/v1/caf%C3%A9/%E0%A4%95', true],
    ['https://api.example.com/v1', 'https://api.example.com/v1/..%252fv2', false],
    ['https://api.example.com/v1', 'https://api.example.com/v1/..;/v2', false],
    ['https://api.example.com', 'https://api.example.com:8443/', false],
    ['https://api.example.com', 'http://api.example.com/', false],
    ['https://api.example.com', 'https://api.example.com.evil.example/', false],
    ['https://api.example.com', 'https://api.example.com@evil.example/', false],
    ['https://api.example.com', 'https://evil.example/api.example.com', false],
    ['https://api.example.com', 'https://sub.api.example.com/', false],
    ['https://api.example.com', 'https://evil.example\\@api.example.com', false],
  ])('%s covers %s: %s', (urlPrefix, upstreamUrl, isCovered) => {
    expect(isUnder(urlPrefix, upstreamUrl)).toBe(isCovered);
  });

  test('covers only URLs of the same origin, no matter what follows', () => {
    fc.assert(
      fc.property(fc.webUrl(), fc.webUrl({ withQueryParameters: true }), (one, other) => {
        if (isUnder(one, other)) expect(new URL(other).origin).toBe(new URL(one).origin);
      }),
    );
  });
});
