import { inspect } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { egressTransport } from '../../../src/gateway/chain/rpc.ts';
import { createTestEgress, type TestEgress } from '../../egress/support.ts';
import { type Receiver, startReceiver, type TestResponse } from '../../support/receiver.ts';

const CHAIN: TestResponse = { body: JSON.stringify({ jsonrpc: '2.0', id: 1, result: '0x14a34' }) };
const KEY = 'Xk29aVerySecretKey';

let egress: TestEgress;
/** Serves every host name in these tests. */
let server: Receiver;

beforeAll(async () => {
  server = await startReceiver();
  const hosts = ['node.example', 'www.node.example', 'other.example'];
  egress = createTestEgress({
    allow: `127.0.0.1/32:${server.port}`,
    lookup: async () => ['127.0.0.1'],
    hostOverrides: Object.fromEntries(hosts.map((host) => [host, server.url])),
  });
});

afterEach(() => {
  server.requests.length = 0;
});

afterAll(async () => {
  await egress?.close();
  await server?.close();
});

const ask = (url: string) => egressTransport(egress, url)({}).request({ method: 'eth_chainId' });
/** Redirects the first request, and responds normally to the others. */
const redirect = (statusCode: number, location: string) =>
  server.handle(() => (server.requests.length === 1 ? { statusCode, headers: { location } } : CHAIN));
const seen = () => server.requests.map(({ method, path, headers }) => `${method} ${headers.host}${path}`);

describe("a node's redirect", () => {
  test.each([
    [307, 'https://node.example/v2', '/v3', 'node.example/v3'],
    [308, 'https://node.example', 'https://www.node.example/rpc', 'www.node.example/rpc'],
    [308, 'https://node.example', 'https://other.example/rpc', 'other.example/rpc'],
    [307, `https://node.example/v2/${KEY}`, `/v3/${KEY}`, `node.example/v3/${KEY}`],
  ])('with status %i from %s to %s is followed with the method and the body', async (status, url, location, place) => {
    redirect(status, location);
    expect(await ask(url)).toBe('0x14a34');
    const [first, second] = server.requests;
    expect(seen()[1]).toBe(`POST ${place}`);
    expect(second!.body).toEqual(first!.body);
    expect(second!.headers['content-type']).toBe('application/json');
  });

  test.each([
    ['with status 301', 301, 'https://node.example', 'https://www.node.example/rpc', 'https://www.node.example/rpc'],
    ['with status 302', 302, 'https://node.example', '/rpc', 'https://node.example/rpc'],
    ['to http', 307, 'https://node.example', 'http://other.example/rpc', 'http://other.example/rpc'],
    ['to a private address', 307, 'https://node.example', 'https://10.0.0.1/rpc', 'https://10.0.0.1/rpc'],
    [
      'to another site if its URL may contain a key',
      308,
      `https://node.example/v2/${KEY}`,
      `https://other.example/v2/${KEY}`,
      'https://other.example/v2/••••',
    ],
    [
      'to another site if its query may contain a key',
      308,
      `https://node.example/?key=${KEY}`,
      `https://other.example/?key=${KEY}`,
      'https://other.example/',
    ],
  ])(
    "%s isn't followed, and the error names the URL without its secrets",
    async (_what, status, url, location, shown) => {
      redirect(status, location);
      const error = (await ask(url).catch((thrown) => thrown)) as Error;
      expect(error.message).toContain(`The node redirects to ${shown}. Set RPC_URL (or RPC_URLS) to that address.`);
      expect(JSON.stringify([error.message, error.stack])).not.toContain(KEY);
      expect(server.requests).toHaveLength(1);
    },
  );
});

test.each([
  ['', {}],
  [', even if the node repeats it', { message: `busy: /v2/${KEY} is over its limit`, data: { project: KEY } }],
])("a node's error doesn't contain the key from its URL%s", async (_what, changes) => {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: -32000, message: 'busy', ...changes } });
  server.handle(() => ({ body }));
  const error = (await ask(`https://node.example/v2/${KEY}`).catch((thrown) => thrown)) as Error;
  expect(error.message).toContain('busy');
  expect(inspect(error, { depth: 10 })).not.toContain(KEY);
});

test.each([
  ['the data of an error', '0x08c379a0', '0x08c379a0'],
  ['data that a node puts into an object', { message: 'reverted', data: '0x08c379a0' }, '0x08c379a0'],
  ['nothing that only a person can read', 'reverted', undefined],
])('an error keeps %s', async (_what, data, kept) => {
  server.handle(() => ({ body: JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: 3, message: 'no', data } }) }));
  await expect(ask('https://node.example')).rejects.toHaveProperty('data', kept);
});
