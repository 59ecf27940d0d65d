import { generateKeyPairSync } from 'node:crypto';
import { decodeJwt } from 'jose';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { FacilitatorRequest } from '../../../src/gateway/chain/facilitator.ts';
import { createFacilitatorAuth, type FacilitatorCredential } from '../../../src/gateway/chain/facilitator-auth.ts';
import { createHttpFacilitator } from '../../../src/gateway/chain/facilitator-http.ts';
import { createTestEgress, type TestEgress } from '../../egress/support.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';

const HASH = `0x${'ab'.repeat(32)}`;
const REQUEST: FacilitatorRequest = { x402Version: 2, paymentPayload: { a: 1 }, paymentRequirements: { b: 2 } };
const KIND = { x402Version: 2, scheme: 'exact', network: 'eip155:84532' };
const RESPONSES: Record<string, unknown> = {
  verify: { isValid: true },
  settle: { success: true, transaction: HASH },
  supported: { kinds: [KIND] },
};
const TOKEN: FacilitatorCredential = { kind: 'token', token: 'very-secret-token' };

let egress: TestEgress;
/** Serves every host name in these tests. */
let server: Receiver;
let time = 0;

const HOSTS = ['pay.example', 'www.pay.example', 'other.example', 'evil.pay.example'];

beforeAll(async () => {
  server = await startReceiver();
  const lookup = async () => ['127.0.0.1'];
  const hostOverrides = Object.fromEntries(HOSTS.map((host) => [host, server.url]));
  egress = createTestEgress({ allow: `127.0.0.1/32:${server.port}`, lookup, hostOverrides });
});

afterEach(() => {
  server.requests.length = 0;
  time = 0;
});

afterAll(async () => {
  await egress?.close();
  await server?.close();
});

function facilitator(credential: FacilitatorCredential = { kind: 'none' }, url = 'https://pay.example/v2') {
  return createHttpFacilitator({ url, egress, auth: createFacilitatorAuth(credential), now: () => time });
}

const seen = () => server.requests.map(({ method, path, headers }) => `${method} ${headers.host}${path}`);

/** Redirects requests under `/v2` to where `locationOf` says, and responds normally everywhere else. */
function redirect(statusCode: number, locationOf: (operation: string) => string | undefined) {
  server.handle(({ path }) => {
    const operation = /\w+$/.exec(path.replace(/\/$/, ''))![0];
    const location = path.startsWith('/v2/') && path.endsWith(operation) ? locationOf(operation) : undefined;
    if (location !== undefined) return { statusCode, headers: { location } };
    return { body: JSON.stringify(RESPONSES[operation]) };
  });
}

/** A redirect that isn't followed, and the advice about it. */
const rejection = (advice: RegExp) => ({
  reason: 'facilitator_rejected',
  message: 'The facilitator redirects to another address.',
  advice: expect.stringMatching(advice),
});

describe("a facilitator's redirect", () => {
  test.each([
    [307, 'a path', (operation: string) => `/v3/${operation}`, 'pay.example/v3/'],
    [308, 'a slash at the end', (operation: string) => `${operation}/`, 'pay.example/v2/'],
    [308, 'www.', (operation: string) => `https://www.pay.example/f/${operation}`, 'www.pay.example/f/'],
  ])(
    'with status %i to %s is followed with the method, the body, and the credentials',
    async (status, _to, at, place) => {
      redirect(status, at);
      const { verify, settle, supported } = facilitator(TOKEN);
      expect(await verify(REQUEST)).toEqual({ isValid: true });
      expect(await settle(REQUEST)).toEqual({ kind: 'settled', transactionHash: HASH });
      expect(await supported()).toEqual([KIND]);
      const followed = server.requests.filter((_request, index) => index % 2 === 1);
      const ends = ['verify', 'settle', 'supported'].map((operation) => expect.stringContaining(place + operation));
      expect(followed.map(({ headers, path }) => headers.host + path)).toEqual(ends);
      expect(followed.map(({ method }) => method)).toEqual(['POST', 'POST', 'GET']);
      expect(followed.slice(0, 2).map(({ body }) => JSON.parse(String(body)))).toEqual([REQUEST, REQUEST]);
      for (const { headers } of followed) expect(headers.authorization).toBe('Bearer very-secret-token');
    },
  );

  test('gets a token that is signed for the new URL', async () => {
    redirect(308, (operation) => `https://www.pay.example/f/${operation}`);
    const { privateKey: key } = generateKeyPairSync('ed25519');
    await facilitator({ kind: 'key', keyId: 'k', key }).verify(REQUEST);
    const uris = server.requests.map(({ headers }) => decodeJwt(headers.authorization!.slice(7)).uris);
    expect(uris).toEqual([['POST pay.example/v2/verify'], ['POST www.pay.example/f/verify']]);
  });

  test('to another site is followed without credentials', async () => {
    redirect(307, (operation) => `https://other.example/${operation}`);
    const { verify, settle, supported } = facilitator();
    expect(await verify(REQUEST)).toEqual({ isValid: true });
    expect(await settle(REQUEST)).toMatchObject({ kind: 'settled' });
    expect(await supported()).toEqual([KIND]);
  });

  test.each([
    'https://other.example/x',
    'https://evil.pay.example/x',
    'https://pay.example:8443/x',
    'http://pay.example/x',
  ])("to %s isn't followed with credentials, and the error names the URL to use", async (base) => {
    redirect(308, (operation) => `${base}/${operation}?key=hidden`);
    const { verify, settle, supported } = facilitator(TOKEN);
    const expected = rejection(new RegExp(`^It redirects to ${base}/\\w+\\. Set FACILITATOR_URL .* to ${base}\\.$`));
    await expect(supported()).rejects.toMatchObject(expected);
    await expect(verify(REQUEST)).rejects.toMatchObject(expected);
    expect(await settle(REQUEST)).toEqual({ kind: 'refused', ...expected });
    expect(seen()).toEqual([
      'GET pay.example/v2/supported',
      'POST pay.example/v2/verify',
      'POST pay.example/v2/settle',
    ]);
  });

  test("that isn't followed doesn't put the key from the facilitator's URL into the log", async () => {
    server.handle(({ path }) => ({ statusCode: 308, headers: { location: `https://other.example${path}` } }));
    const { verify, settle } = facilitator(TOKEN, 'https://pay.example/v2/key-a1b2c3d4e5');
    const error = await verify(REQUEST).catch((thrown) => thrown);
    expect(error).toMatchObject(
      rejection(/^It redirects to https:\/\/other\.example\*\*\*\/verify\. Set FACILITATOR_URL /),
    );
    const { advice, cause } = error;
    const logged = [
      advice,
      cause.message,
      cause.target,
      error.stack,
      cause.stack,
      JSON.stringify(await settle(REQUEST)),
    ];
    expect(logged.join()).not.toContain('a1b2c3d4e5');
  });

  test("from https to http isn't followed, even without credentials", async () => {
    redirect(307, (operation) => `http://127.0.0.1:${server.port}/${operation}`);
    const expected = rejection(/Set FACILITATOR_URL .* to http:\/\/127/);
    await expect(facilitator().supported()).rejects.toMatchObject(expected);
    expect(await facilitator().settle(REQUEST)).toMatchObject({ kind: 'refused' });
  });

  test("to an address that isn't allowed isn't followed", async () => {
    redirect(307, (operation) => `https://10.0.0.1/${operation}`);
    await expect(facilitator().verify(REQUEST)).rejects.toMatchObject(rejection(/to https:\/\/10\.0\.0\.1\.$/));
    expect(await facilitator().settle(REQUEST)).toMatchObject({ kind: 'refused' });
  });

  test.each([301, 302])('with status %i is followed for GET, but not for POST', async (status) => {
    redirect(status, (operation) => `/v3/${operation}`);
    const { verify, settle, supported } = facilitator();
    expect(await supported()).toEqual([KIND]);
    const expected = rejection(/Set FACILITATOR_URL .* to https:\/\/pay\.example\/v3\.$/);
    await expect(verify(REQUEST)).rejects.toMatchObject(expected);
    expect(await settle(REQUEST)).toEqual({ kind: 'refused', ...expected });
    expect(seen().slice(2)).toEqual(['POST pay.example/v2/verify', 'POST pay.example/v2/settle']);
  });

  test('with status 303 leaves the settlement in doubt, because it may have happened', async () => {
    redirect(303, () => '/results/1');
    expect(await facilitator().settle(REQUEST)).toMatchObject({ kind: 'ambiguous', isDenied: false });
  });

  test.each([
    ['that never ends', '/v2/verify', 4],
    ['without a URL', undefined, 1],
    ['to something else than http', 'mailto:a@pay.example', 1],
    ['with a user name', 'https://user:hidden@pay.example/verify', 1],
  ])('%s is an error', async (_what, location, count) => {
    server.handle(() => ({ statusCode: 308, ...(location !== undefined && { headers: { location } }) }));
    const { verify, settle } = facilitator();
    const error = await verify(REQUEST).catch((thrown) => thrown);
    expect(error).toMatchObject({ reason: 'facilitator_rejected', advice: expect.any(String) });
    expect(error.advice).not.toContain('hidden');
    expect(server.requests).toHaveLength(count);
    expect(await settle(REQUEST)).toMatchObject({ kind: 'refused' });
  });

  test("to a page that isn't an operation is named as it is", async () => {
    redirect(302, () => 'https://other.example/login?next=secret');
    await expect(facilitator().verify(REQUEST)).rejects.toMatchObject(
      rejection(/^It redirects to https:\/\/other\.example\/login\. .* that doesn't redirect\.$/),
    );
  });
});

describe('a facilitator that redirects only settlements', () => {
  const onlySettlements = () =>
    redirect(302, (operation) => (operation === 'settle' ? 'https://other.example/settle' : undefined));

  test('gets no more payments to verify until settlements work again', async () => {
    onlySettlements();
    const { verify, settle } = facilitator();
    expect(await verify(REQUEST)).toEqual({ isValid: true });
    expect(await settle(REQUEST)).toMatchObject({ kind: 'refused' });
    const expected = rejection(/to https:\/\/other\.example\.$/);
    await expect(verify(REQUEST)).rejects.toMatchObject(expected);
    time += 60_000;
    await expect(verify(REQUEST)).rejects.toMatchObject(expected);
    await expect(verify(REQUEST)).rejects.toMatchObject(expected);
    expect(seen()).toEqual(['verify', 'settle', 'settle'].map((operation) => `POST pay.example/v2/${operation}`));
    expect(String(server.requests[2]!.body)).toBe('{}');

    redirect(302, () => undefined);
    await expect(verify(REQUEST)).rejects.toMatchObject(expected);
    time += 60_000;
    expect(await verify(REQUEST)).toEqual({ isValid: true });
    expect(await verify(REQUEST)).toEqual({ isValid: true });
    expect(seen().filter((line) => line.endsWith('settle'))).toHaveLength(3);
  });

  test('is found by a probe, which then prevents sales', async () => {
    onlySettlements();
    const { verify, probe } = facilitator();
    expect(await probe('verify')).toBe(200);
    await expect(probe('settle')).rejects.toMatchObject(rejection(/other\.example/));
    await expect(verify(REQUEST)).rejects.toMatchObject(rejection(/other\.example/));
    redirect(302, () => undefined);
    expect(await probe('settle')).toBe(200);
    expect(await verify(REQUEST)).toEqual({ isValid: true });
  });
});
