import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ownHostsOf } from '../../../src/config/own-hosts.ts';
import { gatewayHostInput } from '../../../src/features/projects/gateway-host.ts';

const label = fc.stringMatching(/^[a-z0-9](?:[a-z0-9-]{0,8}[a-z0-9])?$/);
const labels = (minLength: number) => fc.array(label, { minLength, maxLength: 4 });
const anyCase = (host: string) =>
  fc
    .array(fc.boolean(), { minLength: host.length, maxLength: host.length })
    .map((upper) => [...host].map((letter, at) => (upper[at] ? letter.toUpperCase() : letter)).join(''));

const inputFor = (publicUrl: string | undefined, production = true) =>
  gatewayHostInput({ ownHosts: ownHostsOf({ host: '0.0.0.0', publicUrl, production }), production });
const refusal = (input: ReturnType<typeof inputFor>, host: string) => input.safeParse(host).error?.issues[0]?.message;

describe("the service's own name", () => {
  const input = inputFor('https://gate.pay.example.com/prefix');
  test.each([
    'gate.pay.example.com',
    'GATE.pay.Example.com',
    'www.gate.pay.example.com',
    'console.gate.pay.example.com',
    'a.b.gate.pay.example.com',
    'pay.example.com',
    'example.com',
  ])('keeps a project from having %s', (host) => {
    expect(refusal(input, host)).toMatch(/belongs to the service itself.*your own domain/);
  });

  test.each(['shop.pay.example.com', 'agate.pay.example.com', 'gate.pay.example.com.shop.net', 'ate.pay.example.com'])(
    "doesn't keep a project from having %s",
    (host) => {
      expect(refusal(input, host)).toBeUndefined();
    },
  );

  test('can be international, or end in a dot', () => {
    expect(refusal(inputFor('https://bücher.de'), 'www.BÜCHER.de')).toMatch(/belongs to the service/);
    expect(refusal(inputFor('https://gate.shop.net./'), 'gate.shop.net')).toMatch(/belongs to the service/);
  });

  test('reserves exactly itself, its subdomains, and its parent domains', () => {
    fc.assert(
      fc.property(labels(2), labels(0), labels(2), (own, prefix, stranger) => {
        const service = [...own, 'com'];
        const hosts = inputFor(`https://${service.join('.')}`);
        expect(refusal(hosts, [...prefix, ...service].join('.'))).toMatch(/belongs to the service/);
        for (let above = 1; above < service.length - 1; above++)
          expect(refusal(hosts, service.slice(above).join('.'))).toMatch(/belongs to the service/);
        // A name in another top-level domain is unrelated.
        expect(refusal(hosts, [...stranger, 'net'].join('.'))).toBeUndefined();
      }),
    );
  });
});

describe('in production', () => {
  const input = inputFor('https://gate.pay.com');
  const domains = [
    ...['localhost', 'local', 'internal', 'localdomain', 'home.arpa', 'test', 'example', 'invalid', 'onion'],
    ...['google.internal', 'svc.cluster.local', 'lan', 'corp', 'in-addr.arpa'],
  ];
  test.each(domains)('no project can have a name under .%s, no matter how it is written', (domain) => {
    fc.assert(
      fc.property(
        labels(1)
          .map((prefix) => [...prefix, ...domain.split('.')].join('.'))
          .chain(anyCase),
        (host) => {
          expect(refusal(input, host)).toMatch(/Must be a name on the public internet, for example, "api.example.com"/);
        },
      ),
      { numRuns: 30 },
    );
  });

  test.each(['localhost', 'com', 'tollgate', '10.0.0.1', '127.1', '0x7f.0.0.1', '[::1]', '::1', '1.2.3.4.5'])(
    'no project can have %s, which is a single label or an IP address',
    (host) => {
      expect(refusal(input, host)).toMatch(/^Must be a domain/);
    },
  );

  test('every accepted name is a lowercase ASCII name with a dot, and is accepted again unchanged', () => {
    fc.assert(
      fc.property(fc.oneof(fc.domain(), fc.string(), fc.webAuthority()), (text) => {
        const { data: host } = input.safeParse(text);
        if (host === undefined) return;
        expect(host).toMatch(/^(?:[a-z0-9-]+\.)+[a-z0-9-]*[a-z][a-z0-9-]*$/);
        expect(input.parse(host)).toBe(host);
      }),
    );
  });
});

test.each(['shop.localhost', 'shop.example', 'shop.test'])('in development, a project can have %s', (host) => {
  expect(refusal(inputFor(undefined, false), host)).toBeUndefined();
});

test.each(['metadata.google.internal', 'printer.local', 'a.home.arpa'])(
  "even in development, a project can't have %s",
  (host) => {
    expect(refusal(inputFor(undefined, false), host)).toMatch(/Must be a name on the public internet/);
  },
);
