import pino from 'pino';
import { custom, decodeFunctionData, encodeFunctionResult, type Hex, parseAbi } from 'viem';
import { describe, expect, test } from 'vitest';
import type { Facilitator } from '../../../src/gateway/chain/facilitator.ts';
import { findNetwork } from '../../../src/gateway/chain/networks.ts';
import { checkRail, credentialFor } from '../../../src/gateway/chain/rails.ts';

test.each([
  ['https://www.x402.org/facilitator', 'https://x402.org/facilitator', 'token'],
  ['https://x402.org/facilitator', 'https://www.x402.org/facilitator', 'token'],
  ['https://pay.example/a', 'https://pay.example/b', 'token'],
  ['https://pay.example', 'http://pay.example', 'none'],
  ['https://pay.example', 'https://other.example', 'none'],
  ['https://pay.example', 'https://api.pay.example', 'none'],
])('the credential for %s at %s: %s', (facilitatorUrl, url, kind) => {
  const facilitatorCredential = { kind: 'token', token: 'secret' } as const;
  expect(credentialFor(url, { facilitatorUrl, facilitatorCredential })).toMatchObject({ kind });
});

describe('the check at startup', () => {
  const network = findNetwork('base')!;
  const TOKEN = parseAbi([
    'function name() view returns (string)',
    'function version() view returns (string)',
    'function decimals() view returns (uint8)',
  ]);
  const facilitator = {
    supported: async () =>
      [1, 2].map((x402Version) => {
        return { x402Version, scheme: 'exact', network: x402Version === 1 ? 'base' : network.id };
      }),
    probe: async () => 400,
  } as unknown as Facilitator;

  /** What the gateway logs about a node with such a token. */
  async function logged(token: object, chainId = 8453) {
    const properties = { name: 'USD Coin', version: '2', decimals: 6, ...token };
    async function request({ method, params }: { method: string; params: [{ to: string; data: Hex }] }) {
      if (method === 'eth_chainId') return `0x${chainId.toString(16)}`;
      const [{ to, data }] = params;
      if (to !== network.asset.address) return '0x';
      const { functionName } = decodeFunctionData({ abi: TOKEN, data });
      return encodeFunctionResult({ abi: TOKEN, functionName, result: properties[functionName] as never });
    }
    const lines: object[] = [];
    const log = pino({ base: null, timestamp: false }, { write: (line) => void lines.push(JSON.parse(line)) });
    await checkRail({ network, facilitator, transport: custom({ request }, { retryCount: 0 }) }, log);
    return lines;
  }

  test('logs nothing if the token is as x402 describes it', async () => {
    expect(await logged({})).toEqual([]);
  });

  test.each([
    [{ name: 'USDC' }, `The token's name is "USDC", not "USD Coin".`],
    [{ version: '1' }, `The token's version is "1", not "2".`],
    [{ decimals: 18 }, `The token's decimals is 18, not 6.`],
  ])('names the difference of a token with %j', async (token, problem) => {
    expect(await logged(token)).toMatchObject([{ level: 50, network: network.id, problems: [problem] }]);
  });

  test('names the chain of a node on another chain, and nothing else', async () => {
    expect(await logged({ name: 'Other' }, 1)).toMatchObject([{ level: 50, chainId: 1 }]);
  });
});
