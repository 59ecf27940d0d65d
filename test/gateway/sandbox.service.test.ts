import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { privateKeyToAccount } from 'viem/accounts';
import { afterEach, expect, test } from 'vitest';
import { findNetwork } from '../../src/gateway/chain/networks.ts';
import { findAnvil, startAnvil } from '../../src/sandbox/anvil.ts';
import { startDemoUpstream } from '../../src/sandbox/demo-upstream.ts';
import { type Sandbox, type SandboxFile, startSandbox } from '../../src/sandbox/sandbox.ts';
import { accepted, sign } from './sign.ts';
import { NETWORK } from './support.ts';

const log = pino({ level: 'silent' });
let dataDir: string;
let sandbox: Sandbox | undefined;

afterEach(async () => {
  await sandbox?.stop();
  sandbox = undefined;
  await rm(dataDir, { recursive: true, force: true });
});

test('the sandbox has a funded wallet, and its facilitator settles payments from that wallet', async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'tollgate-sandbox-'));
  sandbox = (await startSandbox({ networks: [NETWORK], dataDir, log }))!;
  await sandbox.publish('http://127.0.0.1:4000');
  const file = JSON.parse(await readFile(join(dataDir, 'sandbox.json'), 'utf8')) as SandboxFile;
  expect(file).toMatchObject({
    serverUrl: 'http://127.0.0.1:4000',
    network: NETWORK.id,
    asset: NETWORK.asset.address,
    rpcUrl: sandbox.rpcUrl,
  });

  const { facilitator } = sandbox.rails[0]!;
  const payload = await sign(privateKeyToAccount(file.wallet.privateKey as `0x${string}`));
  const request = {
    x402Version: 2 as const,
    paymentPayload: { x402Version: 2, accepted: accepted(), payload },
    paymentRequirements: accepted(),
  };
  expect(await facilitator.verify(request)).toEqual({ isValid: true });
  expect(await facilitator.settle(request)).toMatchObject({ kind: 'settled' });
  // The nonce has been used. Only a lookup on the chain shows whether this payment used it.
  expect(await facilitator.settle(request)).toMatchObject({ kind: 'ambiguous' });
  expect(await facilitator.supported()).toContainEqual({ x402Version: 2, scheme: 'exact', network: NETWORK.id });

  const { privateKey } = file.wallet;
  await sandbox.stop();
  await expect(readFile(join(dataDir, 'sandbox.json'))).rejects.toThrow('ENOENT');
  sandbox = (await startSandbox({ networks: [NETWORK], dataDir, log }))!;
  expect(sandbox.wallet.privateKey).toBe(privateKey);

  await sandbox.publish('http://127.0.0.1:4000');
  // Another server in the same folder replaces the file.
  await writeFile(join(dataDir, 'sandbox.json'), '{}');
  await sandbox.stop();
  expect(await readFile(join(dataDir, 'sandbox.json'), 'utf8')).toBe('{}');
});

test('the sandbox has a chain for each network, with money for the wallet on each', async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'tollgate-sandbox-'));
  const networks = [NETWORK, findNetwork('eip155:421614')!];
  sandbox = (await startSandbox({ networks, dataDir, log }))!;
  expect(sandbox.chains.map(({ network }) => network.id)).toEqual(networks.map(({ id }) => id));
  const account = privateKeyToAccount(sandbox.wallet.privateKey as `0x${string}`);
  for (const { network, facilitator } of sandbox.rails) {
    const terms = accepted('10000', network);
    const payload = await sign(account, {}, network);
    const request = {
      x402Version: 2 as const,
      paymentPayload: { x402Version: 2, accepted: terms, payload },
      paymentRequirements: terms,
    };
    expect(await facilitator.settle(request)).toMatchObject({ kind: 'settled' });
  }
});

test('the sandbox starts without the demo API if its port is taken', async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'tollgate-sandbox-'));
  const other = await startDemoUpstream(4011).catch(() => undefined);
  sandbox = await startSandbox({ networks: [NETWORK], dataDir, log });
  expect(sandbox).toMatchObject({ upstreamUrl: null });
  await other?.stop();
});

test("the sandbox chain's clock keeps running without transactions", async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'tollgate-sandbox-'));
  const anvil = await startAnvil({ binary: findAnvil()!, chainId: NETWORK.chainId });
  const blockNumber = async () => {
    const response = await fetch(anvil.rpcUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] }),
    });
    return Number(((await response.json()) as { result: string }).result);
  };
  const first = await blockNumber();
  await expect.poll(blockNumber).toBeGreaterThan(first);
  await anvil.stop();
  await expect(fetch(anvil.rpcUrl)).rejects.toThrow();
});
