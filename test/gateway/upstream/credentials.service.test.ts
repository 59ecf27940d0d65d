import { randomBytes } from 'node:crypto';
import pg from 'pg';
import pino from 'pino';
import type { PrivateKeyAccount } from 'viem/accounts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { parseKeyring } from '../../../src/secrets/keyring.ts';
import { rotateSecrets } from '../../../src/secrets/rotate.ts';
import { createSecretBox } from '../../../src/secrets/secret-box.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { sendRaw } from '../../support/raw-http.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { createKey, EVERY_SCOPE, type Resource } from '../../support/resources.ts';
import { headerLines, rawRequest, sign, v2Headers } from '../sign.ts';
import { createShop, type Rails, startRails } from '../support.ts';

const KEYS = [1, 2].map((number) => `k${number}:${randomBytes(32).toString('base64')}`);
const TOKEN = 'token-of-the-seller-0123456789';
const AUTHORIZATION = { name: 'Authorization', value: `Bearer ${TOKEN}` };
const API_KEY = { name: 'X-Api-Key', value: 'key/of the+seller' };

const logLines: string[] = [];
let rails: Rails;
let app: TestApp;
let pool: pg.Pool;
let alice: TestUser;
let upstream: Receiver;
/** The server of an attacker who wants the secrets. */
let collector: Receiver;
let buyer: PrivateKeyAccount;
let shop: Awaited<ReturnType<typeof createShop>>;

beforeAll(async () => {
  rails = await startRails();
  [upstream, collector] = await Promise.all([startReceiver(), startReceiver()]);
  const log = pino({ level: 'info' }, { write: (line) => void logLines.push(line) });
  app = await startTestApp({ env: { ...rails.env, SECRET_KEYS: KEYS.join() }, log });
  pool = new pg.Pool({ connectionString: app.databaseUrl });
  alice = await app.user('alice', 'ENTERPRISE');
  buyer = await rails.wallet(100_000_000n);
});
beforeEach(async () => {
  for (const receiver of [upstream, collector]) {
    receiver.requests.length = 0;
    receiver.handle(() => ({ body: 'served' }));
  }
  shop = await createShop(app, alice, {});
});
afterAll(async () => {
  await pool?.end();
  await app?.stop();
  await Promise.all([upstream?.close(), collector?.close()]);
  await rails?.close();
});

const pay = async () => v2Headers(await sign(buyer));
const buy = async (path: string, headers: Record<string, string> = {}) =>
  fetch(shop.url + path, { headers: { ...headers, ...(await pay()) } });

async function add(path: string, fields: object, user = alice): Promise<Resource> {
  const body = { path, upstreamUrl: `${upstream.url}/v1${path}`, priceUsd: '0.01', ...fields };
  const made = await user.rest<Resource>('POST', `${shop.base}/endpoints`, body);
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  return made.body;
}

async function setDefaults(...upstreamHeaders: object[]): Promise<void> {
  const { status, body } = await alice.rest('PATCH', shop.base, { upstreamHeaders });
  expect(status, JSON.stringify(body)).toBe(200);
}

describe('the seller’s headers', () => {
  test('replace the buyer’s headers with the same names, in any spelling, even if the endpoint forwards them', async () => {
    const headers = [AUTHORIZATION, API_KEY, { name: 'User-Agent', value: 'seller/1' }];
    await add('/a', { upstreamHeaders: headers, forwardedHeaders: ['authorization', 'x-api-key', 'x-other'] });
    const forged = [
      ...['AUTHORIZATION: Bearer forged', 'authorization: Basic forged', 'X-API-KEY: forged', 'x_api_key: forged'],
      ...['User-Agent: forged', 'X-Other: kept', 'Connection: x-api-key, authorization'],
    ];
    const target = `GET ${new URL(shop.url).pathname}/a`;
    const request = rawRequest(target, 'Host: a', ...forged, ...headerLines(await pay()));
    const [response] = await sendRaw(app.url, [request]);
    expect(response!.status).toBe(200);
    const [received] = upstream.requests;
    expect(received!.headers).toMatchObject({
      authorization: AUTHORIZATION.value,
      'x-api-key': API_KEY.value,
      'user-agent': 'seller/1',
      'x-other': 'kept',
      'tollgate-payer': buyer.address,
    });
    expect(JSON.stringify(received!.headers)).not.toContain('forged');
    expect(JSON.stringify([...response!.headers, response!.text])).not.toContain('seller');
  });

  test('are sent with the next request after a change', async () => {
    const { id } = await add('/a', { upstreamHeaders: [API_KEY] });
    await buy('/a');
    await alice.rest('PATCH', `${shop.base}/endpoints/${id}`, { upstreamHeaders: [AUTHORIZATION] });
    await buy('/a');
    await alice.rest('PATCH', `${shop.base}/endpoints/${id}`, { upstreamHeaders: [] });
    await buy('/a');
    const seen = upstream.requests.map(({ headers }) => [headers['x-api-key'], headers.authorization]);
    expect(seen).toEqual([
      [API_KEY.value, undefined],
      [undefined, AUTHORIZATION.value],
      [undefined, undefined],
    ]);
  });

  test('come from the project unless the endpoint has its own, and from the longest URL that matches', async () => {
    await setDefaults(
      { ...API_KEY, urlPrefix: `${upstream.url}/v1/b` },
      { name: 'x-api-key', value: 'for the whole host', urlPrefix: upstream.url },
      { ...AUTHORIZATION, urlPrefix: `${upstream.url}/v1` },
    );
    await add('/a', {});
    await add('/b', {});
    await add('/c', { upstreamHeaders: [{ name: 'X-API-KEY', value: 'own' }] });
    await add('/d', { upstreamUrl: `${upstream.url}/v10` });
    for (const path of ['/a', '/b', '/c', '/d']) expect((await buy(path)).status).toBe(200);
    const seen = upstream.requests.map(({ headers }) => [headers['x-api-key'], headers.authorization]);
    expect(seen).toEqual([
      ['for the whole host', AUTHORIZATION.value],
      [API_KEY.value, AUTHORIZATION.value],
      ['own', AUTHORIZATION.value],
      ['for the whole host', undefined],
    ]);
  });

  test('are still sent after the secret keys are rotated, both the endpoint’s and the project’s', async () => {
    await setDefaults({ ...AUTHORIZATION, urlPrefix: upstream.url });
    const { id } = await add('/a', { upstreamHeaders: [API_KEY] });
    const sealed = async () => {
      const { rows } = await pool.query<{ sealed: string }>(
        `SELECT "secretUpstreamHeaders" AS sealed FROM "Endpoint" WHERE id = $1
         UNION ALL SELECT "secretUpstreamHeaders" FROM "Project" WHERE id = $2`,
        [id, shop.projectId],
      );
      return rows.map((row) => row.sealed.split('.', 2)[1]);
    };
    expect(await sealed()).toEqual(['k1', 'k1']);
    const keyring = parseKeyring(KEYS.toReversed().join());
    const log = pino({ level: 'silent' });
    const report = await rotateSecrets({ db: { pool }, keyring, secretBox: createSecretBox(keyring), log });
    expect(report).toMatchObject({ unreadable: [], remaining: 0 });
    expect(await sealed()).toEqual(['k2', 'k2']);
    await expect
      .poll(async () => {
        await buy('/a');
        const { headers } = upstream.requests.at(-1)!;
        return [headers['x-api-key'], headers.authorization];
      })
      .toEqual([API_KEY.value, AUTHORIZATION.value]);
  });
});

describe('an API key', () => {
  const secretsIn = (receiver: Receiver) =>
    JSON.stringify(receiver.requests.map(({ headers }) => headers)).match(/of.the.seller/g) ?? [];

  test.each([
    ['a new endpoint', async (leaked: TestUser) => void (await add('/stolen', { upstreamUrl: collector.url }, leaked))],
    [
      'an endpoint with a URL that it changes',
      async (leaked: TestUser) => {
        const { id } = await add('/stolen', {});
        expect((await buy('/stolen')).status).toBe(200);
        expect(secretsIn(upstream)).toHaveLength(1);
        const changes = { upstreamUrl: `${collector.url}/v1` };
        const changed = await leaked.rest('PATCH', `${shop.base}/endpoints/${id}`, changes);
        expect(changed.status).toBe(200);
      },
    ],
    [
      'an endpoint next to the project’s URL',
      async (leaked: TestUser) => void (await add('/stolen', { upstreamUrl: `${upstream.url}/v10` }, leaked)),
    ],
  ])(
    'can’t send a seller’s headers elsewhere with %s, because the project’s headers aren’t for its URL',
    async (_what, act) => {
      await setDefaults({ ...AUTHORIZATION, urlPrefix: `${upstream.url}/v1` });
      const { key } = await createKey(alice, shop.base, EVERY_SCOPE);
      await act(app.caller(key));
      upstream.requests.length = 0;
      expect((await buy('/stolen')).status).toBe(200);
      expect([...collector.requests, ...upstream.requests]).toHaveLength(1);
      expect([...secretsIn(collector), ...secretsIn(upstream)]).toEqual([]);
    },
  );

  test('can’t send a seller’s headers elsewhere by changing the URL of an endpoint that has its own headers', async () => {
    const { id } = await add('/a', { upstreamHeaders: [AUTHORIZATION] });
    const { key } = await createKey(alice, shop.base, EVERY_SCOPE);
    const path = `${shop.base}/endpoints/${id}`;
    for (const changes of [{}, { upstreamHeaders: [{ ...AUTHORIZATION, value: '••••6789' }] }]) {
      const body = { upstreamUrl: collector.url, ...changes };
      expect((await app.caller(key).rest('PATCH', path, body)).status).toBe(422);
    }
    expect((await buy('/a')).status).toBe(200);
    expect(collector.requests).toEqual([]);
  });

  test('can’t send a seller’s headers elsewhere by changing the upstream URL without them, as a process running an earlier version could', async () => {
    const { id } = await add('/a', { upstreamHeaders: [AUTHORIZATION] });
    await pool.query('UPDATE "Endpoint" SET "upstreamUrl" = $2 WHERE id = $1', [id, collector.url]);
    await expect.poll(async () => (await buy('/a')).status).toBe(503);
    expect(collector.requests).toEqual([]);
    const again = { upstreamHeaders: [API_KEY] };
    expect((await alice.rest('PATCH', `${shop.base}/endpoints/${id}`, again)).status).toBe(200);
    expect((await buy('/a')).status).toBe(200);
    expect(collector.requests).toMatchObject([{ headers: { 'x-api-key': API_KEY.value } }]);
  });

  test('can’t send a seller’s headers elsewhere with a redirect from the upstream, which isn’t followed', async () => {
    await add('/a', { upstreamHeaders: [AUTHORIZATION] });
    for (const statusCode of [301, 302, 303, 307, 308]) {
      upstream.handle(() => ({ statusCode, headers: { location: collector.url } }));
      expect((await buy('/a')).status).toBe(502);
    }
    expect(upstream.requests).toHaveLength(5);
    expect(collector.requests).toEqual([]);
  });
});

describe('a buyer', () => {
  test.each([200, 201, 400])('gets no response header that repeats a value, with status %i', async (statusCode) => {
    await add('/a', { upstreamHeaders: [AUTHORIZATION, API_KEY] });
    const sent = ['x-plain', 'x-in-text', 'x-encoded', 'x-base64', 'x-several', 'location', 'x-other'];
    upstream.handle(({ headers }) => ({
      statusCode,
      headers: {
        'x-plain': `${headers['x-api-key']}`,
        'x-in-text': `key=${TOKEN}; path=/`,
        'x-encoded': encodeURIComponent(API_KEY.value),
        'x-base64': Buffer.from(`user:${TOKEN}`).toString('base64'),
        'x-several': ['fine', `Bearer ${TOKEN}`],
        location: `https://elsewhere.example/?key=${TOKEN}`,
        'x-other': 'Bearer of nothing',
      },
      body: 'served',
    }));
    const headers = { ...(await pay()), 'idempotency-key': 'same' };
    for (let time = 0; time < 2; time++) {
      const response = await fetch(`${shop.url}/a`, { headers });
      const names = [...response.headers.keys()].filter((name) => sent.includes(name));
      if (response.status !== 402) expect(names).toEqual(['x-other']);
      expect(JSON.stringify([...response.headers])).not.toMatch(/of.the.seller|token-of/);
    }
    const { rows } = await pool.query('SELECT t::text AS row FROM "PaymentAnswer" t');
    expect(JSON.stringify(rows)).not.toContain(TOKEN);
  });
});

describe('headers that can’t be decrypted', () => {
  test('make only their own endpoint unavailable, before anyone pays, and are logged once without secrets', async () => {
    const { id } = await add('/broken', { upstreamHeaders: [AUTHORIZATION] });
    await add('/intact', { upstreamHeaders: [API_KEY] });
    await pool.query(
      `UPDATE "Endpoint" SET "secretUpstreamHeaders" = regexp_replace("secretUpstreamHeaders", '^v1\\.k', 'v1.lost')
       WHERE id = $1`,
      [id],
    );
    await alice.rest('PATCH', `${shop.base}/endpoints/${id}`, { description: 'reloads the routes' });
    logLines.length = 0;
    for (let time = 0; time < 3; time++) {
      for (const response of [await fetch(`${shop.url}/broken`), await buy('/broken')]) {
        expect(response.status).toBe(503);
        expect(response.headers.get('retry-after')).toBe('30');
        expect(await response.json()).toMatchObject({ code: 'UNAVAILABLE' });
      }
      await alice.rest('PATCH', `${shop.base}/endpoints/${id}`, { description: `reloads the routes ${time}` });
    }
    expect((await buy('/intact')).status).toBe(200);
    expect(upstream.requests).toHaveLength(1);
    const { body } = await alice.rest<{ data: object[] }>('GET', `${shop.base}/payments`);
    expect(body.data).toHaveLength(1);

    const reports = logLines.filter((line) => line.includes("isn't served"));
    expect(reports.map((line) => JSON.parse(line))).toMatchObject([
      { projectId: shop.projectId, endpointId: id, err: { message: expect.stringContaining('SECRET_KEYS') } },
    ]);
    expect(logLines.join('\n')).not.toContain('of-the-seller');
  });

  test('don’t keep a buyer from getting the response to an earlier payment', async () => {
    const { id } = await add('/paid', { upstreamHeaders: [AUTHORIZATION] });
    const headers = await pay();
    expect((await fetch(`${shop.url}/paid`, { headers })).status).toBe(200);
    await pool.query(`UPDATE "Endpoint" SET "secretUpstreamHeaders" = 'v1.lost' WHERE id = $1`, [id]);
    await alice.rest('PATCH', `${shop.base}/endpoints/${id}`, { description: 'reloads the routes' });
    expect((await buy('/paid')).status).toBe(503);
    const again = await fetch(`${shop.url}/paid`, { headers });
    expect([again.status, await again.text()]).toEqual([200, 'served']);
    expect(upstream.requests).toHaveLength(1);
  });

  test('make only the project’s endpoints unavailable if they are the project’s', async () => {
    await setDefaults({ ...AUTHORIZATION, urlPrefix: upstream.url });
    await add('/a', {});
    await pool.query(
      `UPDATE "Project" SET "secretUpstreamHeaders" = (SELECT "secretUpstreamHeaders" || 'x' FROM "Project" WHERE id = $1) WHERE id = $1`,
      [shop.projectId],
    );
    await alice.rest('PATCH', shop.base, { name: 'reloads the routes' });
    expect((await buy('/a')).status).toBe(503);
    const other = await createShop(app, alice, { '/a': { upstreamUrl: upstream.url } });
    expect((await fetch(`${other.url}/a`, { headers: await pay() })).status).toBe(200);
  });
});
