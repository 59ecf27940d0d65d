import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { jwtVerify } from 'jose';
import pino from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { parseEgressAllow } from '../../../src/egress/allow-list.ts';
import { createEgress, type Egress } from '../../../src/egress/egress.ts';
import { type FacilitatorRequest, readSettlement } from '../../../src/gateway/chain/facilitator.ts';
import {
  createFacilitatorAuth,
  type FacilitatorCredential,
  parseKeySecret,
} from '../../../src/gateway/chain/facilitator-auth.ts';
import { createHttpFacilitator, type FacilitatorTimeouts } from '../../../src/gateway/chain/facilitator-http.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';

const HASH = `0x${'ab'.repeat(32)}`;
const REQUEST: FacilitatorRequest = { x402Version: 2, paymentPayload: { a: 1 }, paymentRequirements: { b: 2 } };

const log = pino({ level: 'silent' });
let egress: Egress;
let server: Receiver;

beforeAll(async () => {
  server = await startReceiver();
  egress = createEgress({ allow: parseEgressAllow('127.0.0.1/32:*'), log });
});

afterEach(() => {
  server.requests.length = 0;
  server.handle(() => ({}));
});

afterAll(async () => {
  await egress?.close();
  await server?.close();
});

function facilitator(
  credential: FacilitatorCredential = { kind: 'none' },
  url = `${server.url}/v2/x402/`,
  timeouts?: FacilitatorTimeouts,
) {
  const auth = createFacilitatorAuth(credential);
  return createHttpFacilitator({ url, egress, auth, ...(timeouts && { timeouts }) });
}

/** A facilitator that gets this time for its responses. */
const hurried = (verifyMilliseconds: number, settleMilliseconds: number) =>
  facilitator(undefined, undefined, { verifyMilliseconds, settleMilliseconds });

const answering = (body: unknown, statusCode = 200) =>
  server.handle(() => ({ statusCode, body: JSON.stringify(body) }));

describe('a facilitator over HTTP', () => {
  test('is called as the protocol specifies', async () => {
    answering({ isValid: true, payer: '0x1' });
    expect(await facilitator().verify(REQUEST)).toEqual({ isValid: true });
    answering({ success: true, transaction: HASH.toUpperCase().replace('0X', '0x'), network: 'eip155:84532' });
    expect(await facilitator().settle(REQUEST)).toEqual({ kind: 'settled', transactionHash: HASH });
    answering({ kinds: [{ x402Version: 2, scheme: 'exact', network: 'eip155:84532', extra: {} }] });
    expect(await facilitator().supported()).toEqual([{ x402Version: 2, scheme: 'exact', network: 'eip155:84532' }]);
    expect(server.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /v2/x402/verify',
      'POST /v2/x402/settle',
      'GET /v2/x402/supported',
    ]);
    expect(JSON.parse(server.requests[0]!.body.toString())).toEqual(REQUEST);
    expect(server.requests[0]!.headers).not.toHaveProperty('authorization');
  });

  test('can reject a payment with any HTTP status', async () => {
    answering({ isValid: false, invalidReason: 'insufficient_funds' }, 400);
    expect(await facilitator().verify(REQUEST)).toEqual({
      isValid: false,
      reason: 'insufficient_funds',
      message: 'The facilitator rejected the payment: insufficient_funds.',
    });
  });

  test('makes the verification fail and leaves the settlement in doubt if it is slow', async () => {
    // Without an open connection, a busy machine could use up the time before the settlement is sent.
    answering({ isValid: true });
    await facilitator().verify(REQUEST);
    server.handle(() => undefined);
    expect(await hurried(300, 2_000).settle(REQUEST)).toMatchObject({
      kind: 'unavailable',
      reason: 'facilitator_unavailable',
    });
    await expect(hurried(300, 2_000).verify(REQUEST)).rejects.toMatchObject({ reason: 'facilitator_unavailable' });
  });

  test('makes the verification fail if it sends its response too slowly', async () => {
    server.handle((_request, response) => {
      response.writeHead(200).write('{');
      const drip = setInterval(() => response.write(' '), 50);
      response.on('close', () => clearInterval(drip));
      return undefined;
    });
    await expect(hurried(300, 300).verify(REQUEST)).rejects.toMatchObject({ reason: 'facilitator_unavailable' });
  });

  test("hasn't settled the payment if it can't be reached", async () => {
    const closed = await startReceiver();
    await closed.close();
    expect(await facilitator({ kind: 'none' }, closed.url).settle(REQUEST)).toMatchObject({ kind: 'notSent' });
    await expect(facilitator({ kind: 'none' }, closed.url).verify(REQUEST)).rejects.toMatchObject({
      reason: 'facilitator_unavailable',
    });
  });

  test('leaves the settlement in doubt if it closes the connection', async () => {
    server.handle((_request, response) => {
      response.destroy();
      return undefined;
    });
    expect(await facilitator().settle(REQUEST)).toMatchObject({ kind: 'unavailable' });
  });

  test.each([408, 409, 425, 429, 500, 502, 503, 504])('is asked again after the status %i', async (statusCode) => {
    server.handle(() => ({ statusCode, headers: { 'retry-after': '7' }, body: 'busy' }));
    const reason = 'facilitator_unavailable';
    await expect(facilitator().verify(REQUEST)).rejects.toMatchObject({ reason });
    const message = `The facilitator responded with status ${statusCode}.`;
    expect(await facilitator().settle(REQUEST)).toEqual({
      kind: 'unavailable',
      reason,
      message,
      retryAfterSeconds: 7,
    });
  });

  test('can say by its own clock when it may be asked again', async () => {
    const date = (seconds: number) => new Date(seconds * 1000).toUTCString();
    const headers = { date: date(1_700_000_000), 'retry-after': date(1_700_000_007) };
    server.handle(() => ({ statusCode: 503, headers, body: 'busy' }));
    expect(await facilitator().settle(REQUEST)).toMatchObject({ kind: 'unavailable', retryAfterSeconds: 7 });
  });

  test.each([400, 401, 403, 404, 422])(
    'has rejected the request if it responds with the status %i',
    async (statusCode) => {
      server.handle(() => ({ statusCode, body: 'Bad\u0000\u0007thing\n' }));
      const rejection = {
        reason: 'facilitator_rejected',
        message: `The facilitator responded with status ${statusCode}: Bad thing`,
      };
      await expect(facilitator().verify(REQUEST)).rejects.toMatchObject(rejection);
      await expect(facilitator().supported()).rejects.toMatchObject(rejection);
      expect(await facilitator().settle(REQUEST)).toEqual({ kind: 'refused', ...rejection });
    },
  );

  test("can't make an error message long, or put our credentials in it", async () => {
    server.handle(({ headers }) => ({
      statusCode: 401,
      body: `Not you: ${headers.authorization}. ${'a'.repeat(9_999)}`,
    }));
    const settlement = await facilitator({ kind: 'token', token: 'very-secret-token' }).settle(REQUEST);
    const { message } = settlement as { message: string };
    expect(message).toContain('status 401: Not you: Bearer ***. aaa');
    expect(message).not.toContain('secret');
    expect(message.length).toBeLessThan(300);
  });

  test("can't make our credentials part of a reason that buyers and sellers see", async () => {
    server.handle(({ headers, path }) => {
      const quoted = `${headers.authorization} at ${path}`;
      const rejection = { errorReason: `invalid_key ${quoted}`, errorMessage: quoted };
      const response = { ...rejection, invalidReason: quoted, invalidMessage: quoted, success: false, isValid: false };
      return { headers: { 'content-type': 'application/json' }, body: JSON.stringify(response) };
    });
    const strict = facilitator({ kind: 'token', token: 'very-secret-token' }, `${server.url}/v2/key-a1b2c3d4e5`);
    const [verified, settled] = ['verify', 'settle'].map((operation) => `Bearer *** at ***/${operation}`);
    expect(await strict.verify(REQUEST)).toEqual({ isValid: false, reason: verified, message: verified });
    expect(await strict.settle(REQUEST)).toEqual({
      kind: 'refused',
      reason: `invalid_key ${settled}`,
      message: settled,
    });
  });

  test.each([
    ['JSON-escaped', (text: string) => text.replaceAll('/', '\\/'), 401],
    ['URL-encoded', encodeURIComponent, 403],
    ['in base64', (text: string) => Buffer.from(text).toString('base64'), 200],
  ])("can't show our credentials to buyers and sellers %s", async (_encoding, encode, statusCode) => {
    const token = 'q7w8/e9r+t1y2u3i4o5==';
    server.handle(({ headers, path }) => {
      const quoted = `${encode(headers.authorization!)} ${encode(path)}`;
      const texts = ['invalidReason', 'invalidMessage', 'errorReason', 'errorMessage'];
      const fields = { success: false, isValid: false, ...Object.fromEntries(texts.map((name) => [name, quoted])) };
      return { statusCode, body: statusCode === 200 ? JSON.stringify(fields) : quoted };
    });
    const strict = facilitator({ kind: 'token', token }, `${server.url}/v2/key-a1b2c3d4e5`);
    const verified = await strict.verify(REQUEST).catch(({ message }) => message);
    const seen = JSON.stringify([verified, await strict.settle(REQUEST)]);
    expect(seen).toContain('***');
    for (const part of [
      'q7w8',
      'e9r',
      't1y2u3i4o5',
      'a1b2c3d4e5',
      Buffer.from('xy/e9r+t1y2').toString('base64').slice(4, 12),
    ])
      expect(seen).not.toContain(part);
  });

  test('leaves the settlement in doubt if its reason for rejecting the settlement concerns the chain', async () => {
    answering({ success: false, errorReason: 'invalid_exact_evm_nonce_already_used', transaction: '' }, 400);
    expect(await facilitator().settle(REQUEST)).toMatchObject({ kind: 'ambiguous', isDenied: true });
    answering({ success: true, transaction: HASH }, 404);
    expect(await facilitator().settle(REQUEST)).toEqual({ kind: 'settled', transactionHash: HASH });
    answering({ success: false, errorReason: 'settlement_pending', transaction: HASH }, 503);
    expect(await facilitator().settle(REQUEST)).toMatchObject({ kind: 'ambiguous', isDenied: false });
  });
});

describe('a settle response', () => {
  test.each([
    ['a success', { success: true, transaction: HASH }, 'settled'],
    ['a success without a transaction', { success: true, transaction: '' }, 'ambiguous'],
    ['a success with something else', { success: true, transaction: '0x12' }, 'ambiguous'],
    ['a success that is text', { success: 'true', transaction: HASH }, 'ambiguous'],
    ['nothing', undefined, 'ambiguous'],
    ['null', null, 'ambiguous'],
    ['a list', [], 'ambiguous'],
    ['text', 'ok', 'ambiguous'],
    ['an HTTP error', { error: 'bad gateway' }, 'ambiguous'],
    ['a failure without a reason', { success: false }, 'ambiguous'],
    ['a bad signature', { success: false, errorReason: 'invalid_exact_evm_signature', transaction: '' }, 'refused'],
    ['too little money', { success: false, errorReason: 'insufficient_funds' }, 'refused'],
    [
      'too little money, worded differently',
      { success: false, errorReason: 'invalid_exact_evm_insufficient_balance' },
      'refused',
    ],
    [
      'an expired authorization',
      { success: false, errorReason: 'invalid_exact_evm_payload_authorization_valid_before' },
      'refused',
    ],
    ['a used nonce', { success: false, errorReason: 'invalid_exact_evm_nonce_already_used' }, 'ambiguous'],
    ['a failed transaction', { success: false, errorReason: 'invalid_exact_evm_transaction_failed' }, 'ambiguous'],
    [
      'a failed simulation',
      { success: false, errorReason: 'invalid_exact_evm_transaction_simulation_failed' },
      'ambiguous',
    ],
    ['a different transfer', { success: false, errorReason: 'invalid_exact_evm_transfer_event_mismatch' }, 'ambiguous'],
    ['an unexpected state', { success: false, errorReason: 'invalid_transaction_state' }, 'ambiguous'],
    ['a pending settlement', { success: false, errorReason: 'settlement_pending', transaction: HASH }, 'ambiguous'],
    [
      'a rejection with a transaction',
      { success: false, errorReason: 'insufficient_funds', transaction: HASH },
      'ambiguous',
    ],
    ['words', { success: false, errorReason: 'Execution reverted: something' }, 'ambiguous'],
  ])('is classified correctly if it is %s', (_what, answer, kind) => {
    expect(readSettlement(answer).kind).toBe(kind);
  });

  test('keeps the transaction of a pending settlement', () => {
    expect(readSettlement({ success: false, errorReason: 'settlement_pending', transaction: HASH })).toMatchObject({
      transactionHash: HASH,
    });
  });

  test('is stored without line breaks and limited in length', () => {
    const result = readSettlement({ success: false, errorReason: `a\r\nb\u0000${'x'.repeat(1_000)}` });
    expect(result).toMatchObject({ reason: expect.stringMatching(/^a b x{1,200}$/) });
    expect(result.kind === 'ambiguous' && result.reason.length).toBe(200);
  });
});

describe("the gateway's facilitator credential", () => {
  async function authorizationOf(credential: FacilitatorCredential): Promise<string> {
    answering({ isValid: true });
    await facilitator(credential).verify(REQUEST);
    return server.requests.at(-1)!.headers.authorization!;
  }

  test('can be a fixed token', async () => {
    expect(await authorizationOf({ kind: 'token', token: 'abc' })).toBe('Bearer abc');
  });

  const ed25519 = generateKeyPairSync('ed25519');
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwk = ed25519.privateKey.export({ format: 'jwk' });
  const raw = Buffer.concat([Buffer.from(jwk.d!, 'base64url'), Buffer.from(jwk.x!, 'base64url')]);
  test.each([
    ['Ed25519', raw.toString('base64'), ed25519.publicKey, 'EdDSA'],
    ['EC', ec.privateKey.export({ format: 'pem', type: 'sec1' }), ec.publicKey, 'ES256'],
    [
      'EC (on one line)',
      String(ec.privateKey.export({ format: 'pem', type: 'sec1' })).replaceAll('\n', '\\n'),
      ec.publicKey,
      'ES256',
    ],
  ])('can be an %s key that signs for one method and path', async (_kind, secret, publicKey, alg) => {
    const key = parseKeySecret(String(secret));
    const authorization = await authorizationOf({ kind: 'key', keyId: 'organizations/1/apiKeys/2', key });
    const { payload, protectedHeader } = await jwtVerify(
      authorization.slice('Bearer '.length),
      createPublicKey(publicKey.export({ format: 'pem', type: 'spki' })),
    );
    expect(protectedHeader).toMatchObject({ alg, kid: 'organizations/1/apiKeys/2', typ: 'JWT' });
    expect(protectedHeader.nonce).toMatch(/^[0-9a-f]{32}$/);
    expect(payload).toMatchObject({
      iss: 'cdp',
      sub: 'organizations/1/apiKeys/2',
      uris: [`POST 127.0.0.1:${server.port}/v2/x402/verify`],
    });
    expect(payload.exp! - payload.nbf!).toBe(120);
  });

  test.each(['', 'not a key', Buffer.alloc(31).toString('base64'), '-----BEGIN EC PRIVATE KEY-----\nAAAA'])(
    "is rejected if it isn't a key: %j",
    (secret) => {
      expect(() => parseKeySecret(secret)).toThrow('must be an Ed25519 key in base64, or an EC key in PEM');
    },
  );
});
