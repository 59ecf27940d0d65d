import { afterAll, beforeAll, expect, test } from 'vitest';
import { rawRequest } from '../gateway/sign.ts';
import { decodeHeader } from '../gateway/support.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { sendRaw } from '../support/raw-http.ts';
import { createEndpoint, createKey, createProject, WALLET } from '../support/resources.ts';

const STRANGERS_WALLET = '0x1F98431c8aD98523631AE4a59f267346ea31F984';
const DAY_MILLISECONDS = 86_400_000;

type Problem = { code: string; detail: string };

let app: TestApp;
let owner: TestUser;
let stranger: TestUser;

beforeAll(async () => {
  app = await startTestApp();
  owner = await app.user('owner');
  stranger = await app.user('stranger');
});
afterAll(() => app?.stop());

async function createShop(host: string) {
  const shop = await createProject(owner, { gatewayHost: host });
  await createEndpoint(owner, shop.base, { path: '/weather' });
  await expect.poll(() => payeeAt(host)).toBe(WALLET);
  return shop;
}

/** Returns the wallet in a host name's 402 response, or undefined if there is no such endpoint. */
async function payeeAt(host: string): Promise<string | undefined> {
  const [response] = await sendRaw(app.url, [rawRequest('GET /weather', `Host: ${host}`)]);
  if (response!.status !== 402) return undefined;
  return decodeHeader<{ accepts: { payTo: string }[] }>(response!.headers.get('payment-required')).accepts[0]!.payTo;
}

const change = (who: TestUser, base: string, fields: object) => who.rest<Problem>('PATCH', base, fields);

/** Tries to claim a host name with a new project and with a change. Returns the errors. */
async function claim(host: string): Promise<Problem[]> {
  const stall = await createProject(stranger, { walletAddress: STRANGERS_WALLET });
  await createEndpoint(stranger, stall.base, { path: '/weather' });
  const fields = { name: 'Stall', walletAddress: STRANGERS_WALLET, gatewayHost: host };
  const created = await stranger.rest<Problem>('POST', '/api/projects', fields);
  const changed = await change(stranger, stall.base, { gatewayHost: host });
  return [created.body, changed.body];
}

test("an API key can't release or change its project's host name, so a stranger can't claim it, and the next 402 names the owner's wallet", async () => {
  const host = 'kept.example';
  const shop = await createShop(host);
  const key = app.caller((await createKey(owner, shop.base)).key);

  for (const gatewayHost of [null, 'elsewhere.example', host]) {
    const refused = await change(key, shop.base, { gatewayHost });
    expect([refused.status, refused.body.code]).toEqual([403, 'FORBIDDEN']);
    expect(refused.body.detail).toMatch(/API key.*owner/);
    const { errors } = await key.graphql(
      'mutation ($id: ID!, $host: String) { updateProject(input: { id: $id, gatewayHost: $host }) { project { id } } }',
      { id: shop.id, host: gatewayHost },
    );
    expect(errors).toMatchObject([
      { message: expect.stringMatching(/API key.*owner/), extensions: { code: 'FORBIDDEN' } },
    ]);
  }

  expect((await claim(host)).map(({ code }) => code)).toEqual(['CONFLICT', 'CONFLICT']);
  expect(await payeeAt(host)).toBe(WALLET);
  expect((await change(key, shop.base, { name: 'Renamed' })).status).toBe(200);
});

test("a host name that its owner releases stays reserved for 30 days, and if the owner takes it back, the next 402 names the owner's wallet", async () => {
  const host = 'released.example';
  const shop = await createShop(host);
  const dayIn30 = () => new Date(Date.now() + 30 * DAY_MILLISECONDS).toISOString().slice(0, 10);
  const earliest = dayIn30();
  expect((await change(owner, shop.base, { gatewayHost: null })).status).toBe(200);
  const latest = dayIn30();

  for (const { code, detail } of await claim(host)) {
    expect(code).toBe('HOST_RESERVED');
    expect([earliest, latest]).toContain(/until (\d{4}-\d\d-\d\d)/.exec(detail)?.[1]);
  }
  expect(await payeeAt(host)).toBeUndefined();

  expect((await change(owner, shop.base, { gatewayHost: host })).status).toBe(200);
  await expect.poll(() => payeeAt(host)).toBe(WALLET);
});
