import pino from 'pino';
import { custom, type EIP1193Parameters, encodeErrorResult, numberToHex, parseAbi } from 'viem';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseEgressAllow } from '../../../src/egress/allow-list.ts';
import { createEgress, type Egress } from '../../../src/egress/egress.ts';
import { type Chain, createChain } from '../../../src/gateway/chain/chain.ts';
import { egressTransport } from '../../../src/gateway/chain/rpc.ts';
import { startReceiver } from '../../support/receiver.ts';
import { type Signed, sign } from '../sign.ts';
import { NETWORK, type Rails, SELLER, startRails } from '../support.ts';

const ABI = parseAbi([
  'function transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)',
  'function cancelAuthorization(address authorizer, bytes32 nonce, bytes signature)',
]);
const STRANGER = '0x000000000000000000000000000000000000dEaD';

let rails: Rails;
let egress: Egress;
let chain: Chain;

beforeAll(async () => {
  rails = await startRails();
  const log = pino({ level: 'silent' });
  egress = createEgress({ allow: parseEgressAllow('127.0.0.1/32:*'), log });
  chain = createChain({ network: NETWORK, transport: egressTransport(egress, rails.rpcUrl) });
});

afterAll(async () => {
  await egress?.close();
  await rails?.close();
});

const sought = ({ authorization }: Signed, changes: object = {}) => ({
  assetAddress: NETWORK.asset.address.toLowerCase() as `0x${string}`,
  payer: authorization.from.toLowerCase() as `0x${string}`,
  payTo: SELLER,
  nonce: authorization.nonce,
  amountAtomic: 10_000n,
  since: new Date(),
  validBefore: new Date(Number(authorization.validBefore) * 1000),
  ...changes,
});

async function use({ authorization, signature }: Signed): Promise<`0x${string}`> {
  const sender = await rails.wallet(0n);
  await rails.chain.giveGas(sender.address);
  const { from, to, value, validAfter, validBefore, nonce } = authorization;
  const hash = await rails.chain.client.writeContract({
    account: sender,
    address: NETWORK.asset.address,
    abi: ABI,
    functionName: 'transferWithAuthorization',
    args: [from, to, BigInt(value), BigInt(validAfter), BigInt(validBefore), nonce, signature],
  });
  await rails.chain.client.waitForTransactionReceipt({ hash });
  return hash;
}

test('a settled authorization is found along with its transaction, no matter who submitted the transaction', async () => {
  const signed = await sign(await rails.wallet());
  expect(await chain.outcomeOf(sought(signed))).toEqual({ kind: 'unused', isExpired: false });
  const transactionHash = await use(signed);
  const { blockHash } = await rails.chain.client.getTransactionReceipt({ hash: transactionHash });
  const { timestamp } = await rails.chain.client.getBlock({ blockHash });
  const settledAt = new Date(Number(timestamp) * 1000);
  expect(await chain.outcomeOf(sought(signed))).toMatchObject({ kind: 'settled', transactionHash, settledAt });
});

test('a settled authorization is found even if our clock was hours ahead when it was presented', async () => {
  const signed = await sign(await rails.wallet());
  const transactionHash = await use(signed);
  const since = new Date(Date.now() + 2 * 3_600_000);
  expect(await chain.outcomeOf(sought(signed, { since }))).toMatchObject({ kind: 'settled', transactionHash });
});

test.each([
  ['to someone else', { to: STRANGER }],
  ['of a different amount', { value: '9999' }],
] as const)('an authorization is void if its nonce was used for a transfer %s', async (_what, changes) => {
  const signed = await sign(await rails.wallet(), changes);
  await use(signed);
  expect(await chain.outcomeOf(sought(signed))).toEqual({ kind: 'voided', reason: 'authorization_used_elsewhere' });
});

test('an authorization that its payer canceled is void', async () => {
  const payer = await rails.wallet();
  const signed = await sign(payer);
  const { nonce } = signed.authorization;
  const signature = await payer.signTypedData({
    domain: {
      name: NETWORK.asset.name,
      version: NETWORK.asset.version,
      chainId: NETWORK.chainId,
      verifyingContract: NETWORK.asset.address,
    },
    types: {
      CancelAuthorization: [
        { name: 'authorizer', type: 'address' },
        { name: 'nonce', type: 'bytes32' },
      ],
    },
    primaryType: 'CancelAuthorization',
    message: { authorizer: payer.address, nonce },
  });
  await rails.chain.giveGas(payer.address);
  const hash = await rails.chain.client.writeContract({
    account: payer,
    address: NETWORK.asset.address,
    abi: ABI,
    functionName: 'cancelAuthorization',
    args: [payer.address, nonce, signature],
  });
  await rails.chain.client.waitForTransactionReceipt({ hash });
  expect(await chain.outcomeOf(sought(signed))).toEqual({ kind: 'voided', reason: 'authorization_canceled' });
});

test("an unused authorization expires by the chain's clock, plus a margin", async () => {
  const signed = await sign(await rails.wallet());
  const { timestamp } = await rails.chain.client.getBlock();
  const at = (seconds: bigint) => ({ validBefore: new Date(Number(timestamp + seconds) * 1000) });
  expect(await chain.outcomeOf(sought(signed, at(60n)))).toEqual({ kind: 'unused', isExpired: false });
  expect(await chain.outcomeOf(sought(signed, at(-1n)))).toEqual({ kind: 'unused', isExpired: false });
  expect(await chain.outcomeOf(sought(signed, at(-60n)))).toEqual({ kind: 'unused', isExpired: true });
});

test.each([
  ['invalid JSON', '<html>'],
  ['no result', '{}'],
  ['an error', '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"header not found"}}'],
])('a node that responds with %s gives no result', async (_what, body) => {
  await using node = await startReceiver(() => ({ body }));
  const deaf = createChain({ network: NETWORK, transport: egressTransport(egress, node.url) });
  await expect(deaf.outcomeOf(sought(await sign(await rails.wallet(0n))))).rejects.toThrow();
});

test("a node that reports far more blocks than there are isn't asked for all of them", async () => {
  const signed = await sign(await rails.wallet());
  await use(signed);
  const asked: string[] = [];
  const transport = custom({
    async request(call: EIP1193Parameters) {
      asked.push(call.method);
      if (call.method === 'eth_getLogs') return [];
      const result = await rails.chain.client.request(call as never);
      return call.method === 'eth_blockNumber' ? numberToHex(BigInt(result) + 1_000_000n) : result;
    },
  });
  const lookup = createChain({ network: NETWORK, transport }).outcomeOf(sought(signed));
  await expect(lookup).rejects.toThrow("can't find the transaction yet");
  expect(asked.filter((method) => method === 'eth_getLogs').length).toBeLessThan(5);
});

test('a settled authorization is found even if its block is replaced between two requests, which changes the log indexes', async () => {
  const signed = await sign(await rails.wallet());
  const transactionHash = await use(signed);
  const transport = custom({
    async request(call: EIP1193Parameters) {
      const result = await rails.chain.client.request(call as never);
      if (call.method !== 'eth_getLogs') return result;
      return (result as { logIndex: string }[]).map((log) => ({ ...log, logIndex: numberToHex(7) }));
    },
  });
  const replaced = createChain({ network: NETWORK, transport });
  expect(await replaced.outcomeOf(sought(signed))).toMatchObject({ kind: 'settled', transactionHash });
});

test("a node whose receipt of the transaction doesn't have the authorization gives no result", async () => {
  const signed = await sign(await rails.wallet());
  await use(signed);
  const transport = custom({
    async request(call: EIP1193Parameters) {
      const result = await rails.chain.client.request(call as never);
      return call.method === 'eth_getTransactionReceipt' ? { ...(result as object), logs: [] } : result;
    },
  });
  const lookup = createChain({ network: NETWORK, transport }).outcomeOf(sought(signed));
  await expect(lookup).rejects.toThrow('no authorization in the receipt');
});

test("a node can't make the gateway send requests elsewhere (ERC-3668)", async () => {
  await using elsewhere = await startReceiver(() => ({ body: '{"data":"0x01"}' }));
  const data = encodeErrorResult({
    abi: parseAbi(['error OffchainLookup(address, string[], bytes, bytes4, bytes)']),
    args: [NETWORK.asset.address, [elsewhere.url], '0x', '0x00000000', '0x'],
  });
  const asked: string[] = [];
  await using node = await startReceiver(async ({ body }) => {
    const { method, params } = JSON.parse(body.toString());
    asked.push(method);
    if (method === 'eth_call')
      return { body: JSON.stringify({ error: { code: 3, message: 'execution reverted', data } }) };
    return { body: JSON.stringify({ result: await rails.chain.client.request({ method, params } as never) }) };
  });
  const hostile = createChain({ network: NETWORK, transport: egressTransport(egress, node.url) });
  const signed = sought(await sign(await rails.wallet(0n)));
  await expect(hostile.outcomeOf(signed)).rejects.toThrow();
  await expect(hostile.fundsOf(signed, [signed.nonce])).rejects.toThrow();
  expect(asked.filter((method) => method === 'eth_call')).toHaveLength(2);
  expect(elsewhere.requests).toEqual([]);
});

// These run last because they move the chain's clock.
test('an authorization is found among others, even many blocks back', async () => {
  const signed = await sign(await rails.wallet());
  const others = await Promise.all([1, 2, 3].map(async () => sign(await rails.wallet())));
  for (const other of others) await use(other);
  const transactionHash = await use(signed);
  for (let round = 0; round < 12; round++) await rails.chain.client.mine({ blocks: 100 });
  expect(await chain.outcomeOf(sought(signed))).toMatchObject({ kind: 'settled', transactionHash });
});

test('an authorization that was used long before it was presented counts as payment for something else', async () => {
  const signed = await sign(await rails.wallet(), { validBefore: '9999999999' });
  await use(signed);
  await rails.chain.client.increaseTime({ seconds: 3_600 });
  for (let round = 0; round < 7; round++) await rails.chain.client.mine({ blocks: 100 });
  const { timestamp } = await rails.chain.client.getBlock();
  const presented = { since: new Date(Number(timestamp) * 1000) };
  expect(await chain.outcomeOf(sought(signed, presented))).toEqual({
    kind: 'voided',
    reason: 'authorization_used_elsewhere',
  });
});

test('only recent blocks are read, even if a chain adds two per second', async () => {
  const signed = await sign(await rails.wallet(), { validBefore: '9999999999' });
  const transactionHash = await use(signed);
  const { blockNumber } = await rails.chain.client.getTransactionReceipt({ hash: transactionHash });
  const timeOf = (number: bigint) => number / 2n;
  const asked: bigint[] = [];
  const transport = custom({
    async request(call: EIP1193Parameters) {
      const result = await rails.chain.client.request(call as never);
      if (call.method !== 'eth_getBlockByNumber') return result;
      const number = BigInt((result as { number: string }).number);
      asked.push(number);
      return { ...(result as object), timestamp: numberToHex(timeOf(number)) };
    },
  });
  const since = new Date(Number(timeOf(blockNumber)) * 1000);
  const fast = createChain({ network: NETWORK, transport });
  expect(await fast.outcomeOf(sought(signed, { since }))).toMatchObject({ kind: 'settled', transactionHash });
  // The lookup starts ten minutes before the payment was presented.
  const seconds = 600n + timeOf(asked[0]!) - timeOf(blockNumber);
  for (const number of asked) expect(asked[0]! - number).toBeLessThanOrEqual(2n * seconds);
});
