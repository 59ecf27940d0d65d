import { createSign, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { calculateJwkThumbprint, exportJWK, type JWK } from 'jose';
import type { IssuerConfig } from '../../src/auth/issuer-config.ts';
import type { FetchJson } from '../../src/auth/jwks.ts';
import { parseEgressAllow } from '../../src/egress/allow-list.ts';
import { createEgress, type Egress } from '../../src/egress/egress.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';

export type SigningKey = { algorithm: 'ES256' | 'RS256' | 'EdDSA'; kid: string; privateKey: KeyObject; publicJwk: JWK };

export type IdentityProvider = {
  config: IssuerConfig;
  /** The HTTP server behind `config.jwksUri`. */
  receiver: Receiver;
  /** Fetches through the real egress, which can reach only this server. */
  fetchJson: FetchJson;
  /** Replaces the published keys and makes the server respond normally again. */
  publish(...keys: SigningKey[]): void;
  /** Makes the server respond with 500 to every request. */
  fail(): void;
  /** Makes the server accept requests without ever responding. */
  hang(): void;
  close(): Promise<void>;
};

/** Starts an identity provider with a real HTTP server on a loopback port. It publishes no keys yet. */
export async function startIdentityProvider(): Promise<IdentityProvider> {
  const receiver = await startReceiver();
  const egress: Egress = createEgress({
    allow: parseEgressAllow(`127.0.0.1/32:${receiver.port}`),
    log: { debug: () => {}, warn: () => {} },
  });
  const provider: IdentityProvider = {
    config: {
      issuer: 'https://idp.example',
      jwksUri: `${receiver.url}/jwks.json`,
      audience: 'tollgate-api',
      algorithms: ['RS256', 'ES256', 'EdDSA'],
    },
    receiver,
    fetchJson: egress.fetchJson,
    publish(...keys) {
      const body = JSON.stringify({ keys: keys.map(({ publicJwk }) => publicJwk) });
      receiver.handle(() => ({ headers: { 'content-type': 'application/json' }, body }));
    },
    fail: () => receiver.handle(() => ({ statusCode: 500 })),
    hang: () => receiver.handle(() => undefined),
    async close() {
      await receiver.close();
      await egress.close();
    },
  };
  provider.publish();
  return provider;
}

const GENERATORS = {
  ES256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  RS256: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
  EdDSA: () => generateKeyPairSync('ed25519'),
};

/** Creates a key. Its `kid` is its thumbprint by default. */
export async function newSigningKey(algorithm: keyof typeof GENERATORS = 'ES256', kid?: string): Promise<SigningKey> {
  const { privateKey, publicKey } = GENERATORS[algorithm]();
  const jwk = await exportJWK(publicKey);
  const id = kid ?? (await calculateJwkThumbprint(jwk));
  return { algorithm, kid: id, privateKey, publicJwk: { ...jwk, kid: id, alg: algorithm, use: 'sig' } };
}

export const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** The claims of a valid token for `IdentityProvider.config`. `nowSeconds` is the verifier's time. */
export function goodClaims(nowSeconds: number = Math.floor(Date.now() / 1000)): Record<string, unknown> {
  return { iss: 'https://idp.example', aud: 'tollgate-api', sub: 'alice', iat: nowSeconds, exp: nowSeconds + 300 };
}

/** Signs any claims, valid or not. `header` can override `alg` and `kid`; undefined leaves them out. */
export function makeToken(key: SigningKey, claims: unknown, header: Record<string, unknown> = {}): string {
  const protectedHeader = encode({ alg: key.algorithm, kid: key.kid, typ: 'JWT', ...header });
  const signingInput = `${protectedHeader}.${encode(claims)}`;
  return `${signingInput}.${signatureOf(key, signingInput).toString('base64url')}`;
}

function signatureOf({ algorithm, privateKey }: SigningKey, text: string): Buffer {
  if (algorithm === 'EdDSA') return sign(null, Buffer.from(text), privateKey);
  return createSign('sha256').update(text).sign({ key: privateKey, dsaEncoding: 'ieee-p1363' });
}
