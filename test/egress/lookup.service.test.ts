import { describe, expect, test } from 'vitest';
import { boundLookup, createLookup } from '../../src/egress/lookup.ts';
import { startDnsServer } from './dns-server.ts';
import { createTestEgress } from './support.ts';

describe('createLookup', () => {
  test('returns every address of a name, IPv4 first', async () => {
    await using dns = await startDnsServer((_name, type) =>
      type === 'A' ? ['192.0.2.1', '10.0.0.1'] : ['2001:db8::1'],
    );
    const lookup = createLookup([dns.address]);
    expect(await lookup('hooks.example.com')).toEqual(['192.0.2.1', '10.0.0.1', '2001:db8::1']);
    expect(dns.questions.sort()).toEqual(['A hooks.example.com', 'AAAA hooks.example.com']);
  });

  test('succeeds with one address family, even if the other fails', async () => {
    await using dns = await startDnsServer((_name, type) => (type === 'A' ? 'SERVFAIL' : ['2001:db8::1']));
    expect(await createLookup([dns.address])('hooks.example.com')).toEqual(['2001:db8::1']);
  });

  test.each([
    ['SERVFAIL', 'ESERVFAIL'],
    ['NXDOMAIN', 'ENOTFOUND'],
    [[], 'ENODATA'],
  ] as const)('fails when the answer is %j', async (response, code) => {
    await using dns = await startDnsServer(() => response as 'SERVFAIL' | 'NXDOMAIN' | []);
    await expect(createLookup([dns.address])('hooks.example.com')).rejects.toMatchObject({ code });
  });

  test('asks the operating system, not DNS, for local names', async () => {
    await using dns = await startDnsServer(() => ['192.0.2.1']);
    const addresses = await createLookup([dns.address])('localhost');
    expect(addresses).toEqual(addresses.filter((address) => address === '127.0.0.1' || address === '::1'));
    expect(addresses).not.toEqual([]);
    expect(dns.questions).toEqual([]);
  });

  test('resolves a name while the name servers of a hundred others are silent', async () => {
    const gate = Promise.withResolvers<'SERVFAIL'>();
    await using dns = await startDnsServer((name) => (name.startsWith('slow') ? gate.promise : ['192.0.2.1']));
    const lookup = createLookup([dns.address]);
    const slow = Array.from({ length: 100 }, (_, index) => lookup(`slow${index}.example`).catch(() => 'failed'));
    const first = await Promise.race([lookup('quick.example').then(() => 'resolved'), ...slow]);
    expect(first).toBe('resolved');
    gate.resolve('SERVFAIL');
    expect(new Set(await Promise.all(slow))).toEqual(new Set(['failed']));
  });

  test('makes the guard reject a name with one private address among public ones', async () => {
    await using dns = await startDnsServer((_name, type) => (type === 'A' ? ['93.184.216.34'] : ['fd00::1']));
    await using egress = createTestEgress({ lookup: createLookup([dns.address]) });
    expect(await egress.failureOf('https://mixed.example/')).toMatchObject({ errorClass: 'target_not_allowed' });
  });
});

describe('boundLookup', () => {
  test('shares a lookup in progress, and looks up again afterward', async () => {
    const asked: string[] = [];
    const gate = Promise.withResolvers<string[]>();
    const lookup = boundLookup((hostname) => {
      asked.push(hostname);
      return gate.promise;
    }, 5_000);
    const responses = [lookup('a.example'), lookup('a.example'), lookup('b.example')];
    gate.resolve(['192.0.2.1']);
    await Promise.all(responses);
    await lookup('a.example');
    expect(asked).toEqual(['a.example', 'b.example', 'a.example']);
  });

  test('uses only the first hundred addresses, because checking thousands would take seconds', async () => {
    const all = Array.from({ length: 4_000 }, (_, index) => `198.51.${index >> 8}.${index & 255}`);
    expect(await boundLookup(async () => all, 5_000)('a.example')).toEqual(all.slice(0, 100));
  });

  test('times out a lookup that never ends, and looks up again the next time', async () => {
    let asked = 0;
    const lookup = boundLookup(async () => (asked++ === 0 ? new Promise<string[]>(() => {}) : ['192.0.2.1']), 50);
    await expect(lookup('a.example')).rejects.toMatchObject({ errorClass: 'dns_error' });
    expect(await lookup('a.example')).toEqual(['192.0.2.1']);
  });
});
