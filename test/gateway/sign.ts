import { randomBytes } from 'node:crypto';
import type { Hex } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import type { Network } from '../../src/gateway/chain/networks.ts';
import { NETWORK, SELLER } from './support.ts';

export type Authorization = {
  from: Hex;
  to: Hex;
  value: string;
  validAfter: string;
  validBefore: string;
  nonce: Hex;
};

export type Signed = { signature: Hex; authorization: Authorization };

const TYPES = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const;

/** Signs an authorization with the account. By default, it pays the seller one cent and is valid for two minutes. */
export async function sign(
  account: PrivateKeyAccount,
  changes: Partial<Authorization> = {},
  network: Network = NETWORK,
): Promise<Signed> {
  const now = Math.floor(Date.now() / 1000);
  const authorization: Authorization = {
    from: account.address,
    to: SELLER,
    value: '10000',
    validAfter: '0',
    validBefore: String(now + 120),
    nonce: `0x${randomBytes(32).toString('hex')}`,
    ...changes,
  };
  const { from, to, value, validAfter, validBefore, nonce } = authorization;
  const signature = await account.signTypedData({
    domain: {
      name: network.asset.name,
      version: network.asset.version,
      chainId: network.chainId,
      verifyingContract: network.asset.address,
    },
    types: TYPES,
    primaryType: 'TransferWithAuthorization',
    message: {
      from,
      to,
      value: BigInt(value),
      validAfter: BigInt(validAfter),
      validBefore: BigInt(validBefore),
      nonce,
    },
  });
  return { signature, authorization };
}

/** The terms that a version 2 payment repeats. */
export function accepted(amount = '10000', { id, asset }: Network = NETWORK) {
  return {
    scheme: 'exact',
    network: id as string,
    amount,
    asset: asset.address as string,
    payTo: SELLER as string,
    maxTimeoutSeconds: 120,
    extra: { name: asset.name, version: asset.version },
  };
}

export function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64');
}

/** Headers of a version 2 payment. */
export function v2Headers(payload: unknown, changes: object = {}): Record<string, string> {
  const amount = (payload as Signed).authorization?.value;
  return { 'payment-signature': encode({ x402Version: 2, accepted: accepted(amount), payload, ...changes }) };
}

/** Headers of a version 1 payment. */
export function v1Headers(payload: unknown, changes: object = {}): Record<string, string> {
  return { 'x-payment': encode({ x402Version: 1, scheme: 'exact', network: NETWORK.v1Name, payload, ...changes }) };
}

/** Headers as lines of a raw request. */
export function headerLines(headers: Record<string, string>): string[] {
  return Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
}

/** A request head exactly as it goes over the wire, valid or not. */
export function rawRequest(line: string, ...headers: string[]): string {
  return `${[`${line} HTTP/1.1`, ...headers].join('\r\n')}\r\n\r\n`;
}
