import pino from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createRemoteKeys } from '../../src/auth/jwks.ts';
import { createTokenVerifier, type TokenVerifier } from '../../src/auth/jwt.ts';
import { startReceiver } from '../support/receiver.ts';
import {
  goodClaims,
  type IdentityProvider,
  makeToken,
  newSigningKey,
  type SigningKey,
  startIdentityProvider,
} from './identity-provider.ts';

const log = pino({ level: 'silent' });
const SECOND = 1000;
const HOUR = 3600 * SECOND;

let provider: IdentityProvider;
let verifier: TokenVerifier;
let first: SigningKey;
let second: SigningKey;
let time: number;

beforeEach(async () => {
  provider = await startIdentityProvider();
  first = await newSigningKey();
  second = await newSigningKey();
  provider.publish(first);
  time = Date.now();
  verifier = verifierOf(provider);
});

afterEach(async () => {
  verifier.stop();
  await provider.close();
});

function verifierOf({ config, fetchJson }: IdentityProvider, refreshMilliseconds?: number): TokenVerifier {
  const options = { issuers: [config], fetchJson, log, now: () => time };
  return createTokenVerifier({ ...options, ...(refreshMilliseconds && { refreshMilliseconds }) });
}

const tokenOf = (key: SigningKey, header = {}) => makeToken(key, goodClaims(Math.floor(time / 1000)), header);
const verify = async (key: SigningKey) => (await verifier.verify(tokenOf(key))).subject;
const fetches = () => provider.receiver.requests.length;

describe("an issuer's keys", () => {
  test('are fetched once at startup and used for all tokens after that', async () => {
    await verifier.start();
    await Promise.all(Array.from({ length: 50 }, () => verify(first)));
    expect(fetches()).toBe(1);
  });

  test('are fetched only once, even if many tokens arrive before startup has fetched them', async () => {
    await Promise.all(Array.from({ length: 50 }, () => verify(first)));
    expect(fetches()).toBe(1);
  });

  test('are fetched again for an unknown key after five seconds, and a removed key is then rejected', async () => {
    await verifier.start();
    provider.publish(second);
    await expect(verify(second)).rejects.toThrow('does not match any key of its issuer');
    time += 5 * SECOND;
    expect(await verify(second)).toBe('alice');
    expect(fetches()).toBe(2);
    await expect(verify(first)).rejects.toThrow('does not match any key of its issuer');
  });

  test('are fetched only once in five seconds, even for two hundred unknown key IDs', async () => {
    await verifier.start();
    time += 5 * SECOND;
    const unknown = (count: number) =>
      Promise.all(
        Array.from({ length: count }, (_, index) =>
          expect(verifier.verify(tokenOf(second, { kid: `k${index}` }))).rejects.toThrow('does not match any key'),
        ),
      );
    await unknown(200);
    expect(fetches()).toBe(2);
    time += 4.9 * SECOND;
    await unknown(20);
    expect(fetches()).toBe(2);
    time += 0.1 * SECOND;
    await unknown(20);
    expect(fetches()).toBe(3);
  });

  test('are fetched from where the provider redirects to on its own site', async () => {
    const moved = JSON.stringify({ keys: [first.publicJwk] });
    provider.receiver.handle(({ path }) =>
      path === '/moved.json' ? { body: moved } : { statusCode: 308, headers: { location: '/moved.json' } },
    );
    await verifier.start();
    expect(await verify(first)).toBe('alice');
  });

  test('are not fetched from another site, and the log says where the provider redirects to', async () => {
    await using other = await startReceiver(() => ({ body: JSON.stringify({ keys: [first.publicJwk] }) }));
    provider.receiver.handle(() => ({ statusCode: 307, headers: { location: `${other.url}/keys.json?a=hidden` } }));
    const lines: string[] = [];
    const { config, fetchJson } = provider;
    verifier = createTokenVerifier({
      issuers: [config],
      fetchJson,
      now: () => time,
      log: pino({}, { write: (line: string) => void lines.push(line) }),
    });
    await verifier.start();
    await expect(verify(first)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(lines[0]).toContain(`It redirects to ${other.url}/keys.json. Use that URL instead.`);
    expect(lines[0]).toContain(config.jwksUri);
    expect(lines[0]).not.toContain('hidden');
    expect(other.requests).toHaveLength(0);
  });

  test('are refreshed in the background', async () => {
    verifier = verifierOf(provider, 10);
    await verifier.start();
    provider.publish(second);
    // Moves the clock past the minimum interval between fetches before every background refresh.
    const clock = setInterval(() => {
      time += 5 * SECOND;
    }, 1);
    await provider.receiver.waitFor(4);
    clearInterval(clock);
    verifier.stop();
    provider.fail();
    expect(await verify(second)).toBe('alice');
  });
});

describe('while the issuer is down', () => {
  test('valid tokens are accepted for an hour, with at most one fetch every five seconds', async () => {
    await verifier.start();
    provider.fail();
    for (let minute = 0; minute < 60; minute++) {
      time += 60 * SECOND;
      expect(await verify(first)).toBe('alice');
      for (let index = 0; index < 5; index++)
        await expect(verify(second)).rejects.toThrow('does not match any key of its issuer');
      expect(fetches()).toBe(minute + 2);
    }
  });

  test('its keys are used for at most 24 hours, and are used again once it is back', async () => {
    await verifier.start();
    provider.fail();
    time += 24 * HOUR;
    expect(await verify(first)).toBe('alice');
    time += 1;
    await expect(verify(first)).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfterSeconds: 5 });
    provider.publish(first);
    time += 5 * SECOND;
    expect(await verify(first)).toBe('alice');
  });

  test('the service still starts, and responds with 503 instead of 401', async () => {
    provider.fail();
    await verifier.start();
    const attempts = Array.from({ length: 20 }, () => verify(first));
    for (const attempt of attempts) await expect(attempt).rejects.toMatchObject({ code: 'UNAVAILABLE', status: 503 });
    expect(fetches()).toBe(1);
    provider.publish(first);
    time += 5 * SECOND;
    expect(await verify(first)).toBe('alice');
  });

  test.each([
    ['invalid JSON', { body: '<html>' }],
    ['an object that is not a key set', { body: '{"error":"x"}' }],
    ['a list', { body: '[]' }],
    ['a redirect', { statusCode: 302, headers: { location: 'https://evil.example/' } }],
    ['one megabyte', { body: JSON.stringify({ keys: [], filler: 'x'.repeat(1e6) }) }],
  ])('its old keys stay in use if it responds with %s', async (_what, response) => {
    await verifier.start();
    provider.receiver.handle(() => response);
    time += 5 * SECOND;
    await expect(verify(second)).rejects.toThrow('does not match any key of its issuer');
    expect(fetches()).toBe(2);
    expect(await verify(first)).toBe('alice');
  });

  test('only tokens with an unknown key wait if it never responds', async () => {
    await verifier.start();
    provider.hang();
    time += 5 * SECOND;
    let isRefused = false;
    const stranger = verify(second).catch(() => {
      isRefused = true;
    });
    await provider.receiver.waitFor(2);
    for (let index = 0; index < 50; index++) expect(await verify(first)).toBe('alice');
    expect(isRefused).toBe(false);
    await provider.receiver.close();
    await stranger;
    expect(isRefused).toBe(true);
    expect(fetches()).toBe(2);
  });

  test('keys are still fetched after the clock is set back', async () => {
    await verifier.start();
    provider.publish(second);
    time -= 10 * HOUR;
    expect(await verify(second)).toBe('alice');
  });
});

test('an issuer that is down does not affect other issuers', async () => {
  const other = await startIdentityProvider();
  other.config.issuer = 'https://other.example';
  other.fail();
  other.publish(second);
  provider.fail();
  const both = createTokenVerifier({
    issuers: [provider.config, other.config],
    fetchJson: (url, limits) => (url.startsWith(other.receiver.url) ? other : provider).fetchJson(url, limits),
    log,
    now: () => time,
  });
  await both.start();
  const token = makeToken(second, { ...goodClaims(), iss: 'https://other.example' });
  expect((await both.verify(token)).issuer).toBe('https://other.example');
  both.stop();
  await other.close();
});

test("a token from one issuer signed with another issuer's key is rejected", async () => {
  const other = await startIdentityProvider();
  other.config.issuer = 'https://other.example';
  other.publish(second);
  const both = createTokenVerifier({
    issuers: [provider.config, other.config],
    fetchJson: (url, limits) => (url.startsWith(other.receiver.url) ? other : provider).fetchJson(url, limits),
    log,
    now: () => time,
  });
  await both.start();
  const forged = makeToken(second, goodClaims(), { kid: first.kid });
  await expect(both.verify(forged)).rejects.toThrow('The token’s signature is invalid.');
  await expect(both.verify(makeToken(second, goodClaims()))).rejects.toThrow('does not match any key of its issuer');
  both.stop();
  await other.close();
});

test('a key in the URL of an issuer’s keys is not logged if they can’t be fetched', async () => {
  const lines: string[] = [];
  const fetchJson = () => Promise.reject(new Error('no response'));
  const loud = pino({}, { write: (line) => void lines.push(line) });
  const options = { uri: 'https://id.example/keys?key=hidden', fetchJson, log: loud, now: Date.now };
  expect(await createRemoteKeys(options).refresh()).toBe(false);
  expect(lines).toEqual([expect.stringContaining('https://id.example/keys"')]);
  expect(lines.join()).not.toContain('hidden');
});
