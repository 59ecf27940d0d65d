import { expect, test } from 'vitest';
import { createLookup } from '../../../../src/egress/lookup.ts';
import { createTxtLookup } from '../../../../src/egress/txt-lookup.ts';
import {
  challengePathOf,
  createHostProver,
  dnsRecordOf,
  newHostToken,
} from '../../../../src/features/projects/hosts/proof.ts';
import { type DnsAnswer, startDnsServer } from '../../../egress/dns-server.ts';
import { createTestEgress, loopback } from '../../../egress/support.ts';
import { startReceiver } from '../../../support/receiver.ts';

const HOST = 'api.shop.com';
const token = newHostToken();
const { name, value } = dnsRecordOf(HOST, token);

/** Returns the result of a proof with these TXT records, for a host that resolves to these addresses. */
async function prove(records: DnsAnswer, addresses: DnsAnswer = 'NXDOMAIN') {
  await using dns = await startDnsServer((_name, type) =>
    type === 'TXT' ? records : type === 'A' ? addresses : 'NXDOMAIN',
  );
  await using egress = createTestEgress({ lookup: createLookup([dns.address]) });
  const prover = createHostProver({ egress, lookupTxt: createTxtLookup([dns.address]), userAgent: 'Tollgate/test' });
  const proof = await prover.prove(HOST, token);
  return { proof, asked: dns.questions.filter((question) => question.startsWith('TXT')) };
}

test('a host is verified by a TXT record with the value, even if there are other records or it is split into several parts', async () => {
  const { proof, asked } = await prove(['v=spf1 -all', value]);
  expect(proof).toEqual({ outcome: 'proved', by: 'DNS' });
  expect(asked).toEqual([`TXT ${name}`]);
});

test.each<[string, DnsAnswer, object]>([
  ['there is no record', 'NXDOMAIN', { outcome: 'missing' }],
  ['the response is empty', [], { outcome: 'missing' }],
  ['the value belongs to another claim', [`${value}x`, token], { outcome: 'missing' }],
  ['name servers fail', 'SERVFAIL', { outcome: 'unknown' }],
])('a host is not verified by DNS if %s', async (_what, records, found) => {
  expect((await prove(records)).proof).toMatchObject(found);
});

test.each([
  ['a loopback address', ['127.0.0.1']],
  ['a private address', ['10.0.0.7']],
  ['a cloud’s metadata service', ['169.254.169.254']],
  ['a private address among public ones', ['93.184.216.34', '192.168.0.1']],
])('a host that resolves to %s is not called', async (_what, addresses) => {
  await using web = await startReceiver(() => ({ body: token }));
  const { proof } = await prove('NXDOMAIN', addresses);
  expect(proof).toEqual({
    outcome: 'blocked',
    problem: `There is no TXT record at ${name}. The challenge URL failed: The target address must be public.`,
  });
  expect(web.requests).toEqual([]);
});

test('a host is verified over HTTP only by exactly the right token, with status 200', async () => {
  await using web = await startReceiver();
  await using egress = createTestEgress({ allow: loopback(web), hostOverrides: { [HOST]: web.url } });
  const prover = createHostProver({ egress, lookupTxt: async () => [], userAgent: 'Tollgate/test' });
  const outcomes = [
    { body: `${token}\n` },
    { body: challengePathOf(token) },
    { body: `<p>${token}</p>` },
    { statusCode: 404, body: token },
    { statusCode: 302, headers: { location: 'https://elsewhere.com' } },
    { statusCode: 503, body: token },
    { body: 'x'.repeat(5_000) },
  ];
  const found = [];
  for (const response of outcomes) {
    web.respondNext(response);
    found.push((await prover.prove(HOST, token)).outcome);
  }
  expect(found).toEqual(['proved', 'missing', 'missing', 'missing', 'missing', 'unknown', 'missing']);
  expect(new Set(web.requests.map(({ method, path }) => `${method} ${path}`))).toEqual(
    new Set([`GET ${challengePathOf(token)}`]),
  );
  // A server that only sees the request can't compute the correct response.
  expect(challengePathOf(token)).not.toContain(token);
});

test('no two claims have the same token', () => {
  expect(new Set(Array.from({ length: 100 }, newHostToken)).size).toBe(100);
});
