import { Webhook } from 'standardwebhooks';
import type { PrivateKeyAccount } from 'viem/accounts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sign, v2Headers } from '../../gateway/sign.ts';
import { createShop, type Rails, startRails } from '../../gateway/support.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { createKey, createProject, EVERY_SCOPE } from '../../support/resources.ts';

type UpstreamSecret = { upstreamSecret: string | null; previousUpstreamSecretExpiresAt: string | null };

let rails: Rails;
let app: TestApp;
let alice: TestUser;
let upstream: Receiver;
let shop: Awaited<ReturnType<typeof createShop>>;
let buyer: PrivateKeyAccount;

beforeAll(async () => {
  rails = await startRails();
  upstream = await startReceiver();
  app = await startTestApp({ env: rails.env });
  alice = await app.user('alice');
  shop = await createShop(app, alice, { '/weather': { upstreamUrl: upstream.url } });
  buyer = await rails.wallet(100_000_000n);
});

afterAll(async () => {
  await app?.stop();
  await upstream?.close();
  await rails?.close();
});

async function readSecret(base = shop.base, user = alice): Promise<UpstreamSecret> {
  return (await user.rest<UpstreamSecret>('GET', `${base}/upstream-secret`)).body;
}

const rotate = (base: string, overlapHours?: number, user = alice) =>
  user.rest<UpstreamSecret>('POST', `${base}/upstream-secret/rotate`, { overlapHours });

/** Buys once. Returns which of the secrets signed the request, in the order of the signatures. */
async function signersOf(secrets: Readonly<Record<string, string | null>>): Promise<(string | undefined)[]> {
  expect((await fetch(`${shop.url}/weather`, { headers: v2Headers(await sign(buyer)) })).status).toBe(200);
  const { headers, method, path } = upstream.requests.at(-1)!;
  const signatures = Object.entries(secrets).map(([name, secret]) => [
    new Webhook(secret!).sign(
      headers['tollgate-payment-id'] as string,
      new Date(Number(headers['tollgate-timestamp']) * 1000),
      `${buyer.address}.${method}.${new URL(upstream.url).origin}${path}`,
    ),
    name,
  ]);
  const names = new Map(signatures as [string, string][]);
  const all = String(headers['tollgate-signature']).split(' ');
  // Those without the origin come first.
  return all.slice(all.length / 2).map((signature) => names.get(signature));
}

test('a new secret signs the next request, and the old one does too until the overlap ends', async () => {
  const first = await readSecret();
  expect(first.previousUpstreamSecretExpiresAt).toBeNull();
  expect(await signersOf({ first: first.upstreamSecret })).toEqual(['first']);

  const before = Date.now();
  const { status, body: second } = await rotate(shop.base, 2);
  expect(status).toBe(200);
  expect(second.upstreamSecret).toMatch(/^whsec_/);
  expect(second.upstreamSecret).not.toBe(first.upstreamSecret);
  expect(Date.parse(second.previousUpstreamSecretExpiresAt!)).toBeGreaterThanOrEqual(before + 2 * 3_600_000);
  expect(await readSecret()).toEqual(second);
  const known = { first: first.upstreamSecret, second: second.upstreamSecret };
  expect(await signersOf(known)).toEqual(['second', 'first']);

  // Only one old secret is valid, so the first one has stopped working.
  const { body: third } = await rotate(shop.base);
  expect(await signersOf({ ...known, third: third.upstreamSecret })).toEqual(['third', 'second']);

  const { body: fourth } = await rotate(shop.base, 0);
  expect(fourth.previousUpstreamSecretExpiresAt).toBeNull();
  expect(await signersOf({ third: third.upstreamSecret, fourth: fourth.upstreamSecret })).toEqual(['fourth']);
});

test('concurrent changes each create a secret of their own', async () => {
  const { base } = await createProject(alice);
  const rotated = await Promise.all([1, 2, 3, 4].map(() => rotate(base)));
  expect(rotated.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  const secrets = rotated.map(({ body }) => body.upstreamSecret);
  expect(new Set(secrets).size).toBe(4);
  expect(secrets).toContain((await readSecret(base)).upstreamSecret);
});

test('the audit log says who replaced the secret, but not what it is', async () => {
  const { base, id } = await createProject(alice);
  const { body } = await rotate(base, 5);
  const { body: log } = await alice.rest<{ data: { action: string }[] }>('GET', `${base}/audit-log`);
  expect(log.data[0]).toMatchObject({
    action: 'project.upstream_secret_rotated',
    targetId: id,
    changes: { overlapHours: 5 },
  });
  expect(JSON.stringify(log)).not.toContain(body.upstreamSecret);
});

test('an API key can neither read nor replace it, whatever its scopes', async () => {
  const { base } = await createProject(alice);
  const { key } = await createKey(alice, base, EVERY_SCOPE);
  const caller = app.caller(key);
  const before = await readSecret(base);
  expect(await rotate(base, 0, caller)).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
  expect(await readSecret(base, caller)).toEqual({ upstreamSecret: null, previousUpstreamSecretExpiresAt: null });
  expect(await readSecret(base)).toEqual(before);
});

test.each([[-1], [169], [1.5]])('an overlap of %s hours is rejected', async (overlapHours) => {
  const { base } = await createProject(alice);
  expect(await rotate(base, overlapHours)).toMatchObject({ status: 422, body: { code: 'VALIDATION_FAILED' } });
});
