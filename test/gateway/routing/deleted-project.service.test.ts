import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import type { Misbehaviour } from '../chain/facilitator-server.ts';
import { sign, v2Headers } from '../sign.ts';
import { createShop, type Rails, startRails } from '../support.ts';

let rails: Rails;
let app: TestApp;
let alice: TestUser;
let upstream: Receiver;
let database: pg.Client;
let shop: Awaited<ReturnType<typeof createShop>>;

beforeAll(async () => {
  rails = await startRails();
  upstream = await startReceiver();
  app = await startTestApp({ env: rails.env });
  alice = await app.user('alice');
  database = new pg.Client({ connectionString: app.databaseUrl });
  await database.connect();
});

beforeEach(async () => {
  upstream.requests.length = 0;
  upstream.handle(() => ({ body: 'served' }));
  for (const operation of ['verify', 'settle'] as const) rails.facilitator.misbehave(operation, undefined);
  shop = await createShop(app, alice, { '/weather': { upstreamUrl: `${upstream.url}/now` } });
  expect((await fetch(`${shop.url}/weather`)).status).toBe(402);
});

afterAll(async () => {
  await database?.end();
  await app?.stop();
  await upstream?.close();
  await rails?.close();
});

const deleteProject = () => alice.rest('DELETE', shop.base);

/** Deletes the project without telling the service, which still has its routes in memory. */
const deleteUntold = () => database.query('DELETE FROM "Project" WHERE id = $1', [shop.projectId]);

async function pay() {
  const buyer = await rails.wallet(10_000n);
  const answer = await fetch(`${shop.url}/weather`, { headers: v2Headers(await sign(buyer)) });
  const body = await answer.text();
  return { status: answer.status, body, balance: await rails.chain.balanceOf(buyer.address) };
}

const deletingFirst: Misbehaviour = async (response, real) => {
  await deleteProject();
  response.end(JSON.stringify(await real()));
};

describe("while a project is being deleted, a payment gets 404 and isn't charged", () => {
  test.each([
    ['before the payment is claimed', async () => void (await deleteUntold()), 0],
    ['while the payment is being verified', async () => rails.facilitator.misbehave('verify', deletingFirst), 0],
    [
      'while the upstream is working',
      async () =>
        upstream.handle(async () => {
          await deleteProject();
          return { body: 'served' };
        }),
      1,
    ],
    [
      'while the upstream is failing',
      async () =>
        upstream.handle(async () => {
          await deleteProject();
          return { statusCode: 500 };
        }),
      1,
    ],
  ] as [string, () => Promise<void>, number][])('%s', async (_when, arrange, upstreamCalls) => {
    await arrange();
    const { status, body, balance } = await pay();
    expect([status, JSON.parse(body).code]).toEqual([404, 'NOT_FOUND']);
    expect(balance).toBe(10_000n);
    expect(upstream.requests).toHaveLength(upstreamCalls);
  });
});

test("if the settlement of a deleted project's payment is unknown, the response says so", async () => {
  rails.facilitator.misbehave('settle', async (response) => {
    await deleteProject();
    response.end('<html>');
  });
  const { status, body } = await pay();
  expect([status, JSON.parse(body).code]).toEqual([503, 'PAYMENT_UNRESOLVED']);
});

test('a payment that settles while its project is being deleted still gets its response', async () => {
  rails.facilitator.misbehave('settle', deletingFirst);
  expect(await pay()).toEqual({ status: 200, body: 'served', balance: 0n });
});
