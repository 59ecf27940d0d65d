import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type GatewayProcess, startGatewayProcess } from '../gateway/gateway-processes.ts';
import { sign, v2Headers } from '../gateway/sign.ts';
import { createShop, type Rails, startRails } from '../gateway/support.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';

/** The long version is `npm run prove:gateway`. */
const ROUNDS = Number(process.env.PAYMENT_ROUNDS ?? 2);
const TIMEOUT_MILLISECONDS = 60_000 + ROUNDS * 3_000;

let rails: Rails;
let app: TestApp;
let gateways: GatewayProcess[];
let upstream: Receiver;
let shop: Awaited<ReturnType<typeof createShop>>;
let database: pg.Client;

beforeAll(async () => {
  rails = await startRails();
  upstream = await startReceiver();
  app = await startTestApp({ env: { ...rails.env, ROLES: 'api,worker' } });
  gateways = await Promise.all([1, 2, 3].map(() => startGatewayProcess(app, rails)));
  database = new pg.Client({ connectionString: app.databaseUrl });
  await database.connect();
  const alice = await app.user('alice');
  shop = await createShop(app, alice, { '/fair/*': { upstreamUrl: `${upstream.url}/fair` } });
});

afterAll(async () => {
  await Promise.all((gateways ?? []).map((gateway) => gateway.end('SIGKILL')));
  await database?.end();
  await app?.stop();
  await upstream?.close();
  await rails?.close();
});

type TestResponse = {
  status: number;
  text: string;
  receipt: string | null;
  paymentId: string | null;
  retryAfter: string | null;
};

const urlOf = (index: number, path: string) => `${gateways[index % 3]!.url}/gateway/${shop.projectId}${path}`;

async function ask(index: number, path: string, headers: Record<string, string>): Promise<TestResponse> {
  const response = await fetch(urlOf(index, path), { headers });
  return {
    status: response.status,
    text: await response.text(),
    receipt: response.headers.get('payment-response') ?? response.headers.get('x-payment-response'),
    paymentId: response.headers.get('tollgate-payment-id'),
    retryAfter: response.headers.get('retry-after'),
  };
}

test('one payment sent 100 times at the same time through three processes causes one upstream call and one settlement', {
  timeout: TIMEOUT_MILLISECONDS,
}, async () => {
  for (let round = 0; round < ROUNDS; round++) {
    upstream.requests.length = 0;
    rails.facilitator.calls.length = 0;
    const { promise: othersResponded, resolve: release } = Promise.withResolvers<void>();
    // In every other round, the first request is still running when all others have received their responses.
    const isHeld = round % 2 === 0;
    upstream.handle(async ({ path }) => {
      if (isHeld) await othersResponded;
      return { body: `served ${path}` };
    });
    const buyer = await rails.wallet(20_000n);
    const headers = v2Headers(await sign(buyer));
    let refusals = 0;

    const responses = await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        const response = await ask(index, `/fair/${round}`, headers);
        if (response.status !== 200) refusals += 1;
        if (refusals === 99) release();
        return response;
      }),
    );

    const served = responses.filter(({ status }) => status === 200);
    const refused = responses.filter(({ status }) => status !== 200);
    expect(served.length).toBeGreaterThanOrEqual(1);
    if (isHeld) expect(refused).toHaveLength(99);
    for (const response of served) expect(response).toEqual(served[0]);
    expect(served[0]!.text).toBe(`served /fair/${round}`);
    for (const { status, text, retryAfter, paymentId } of refused) {
      const { code } = JSON.parse(text) as { code: string };
      expect([status, code, retryAfter]).toEqual([409, 'PAYMENT_IN_PROGRESS', '1']);
      expect(paymentId).toBe(served[0]!.paymentId);
    }
    const again = await Promise.all(responses.map((_answer, index) => ask(index, `/fair/${round}`, headers)));
    for (const response of again) expect(response).toEqual(served[0]);
    expect(upstream.requests).toHaveLength(1);
    expect(rails.facilitator.countOf('verify')).toBe(1);
    expect(rails.facilitator.countOf('settle')).toBe(1);
    expect(await rails.chain.balanceOf(buyer.address)).toBe(10_000n);
    const { rows } = await database.query('SELECT status FROM "Payment" WHERE payer = $1', [
      buyer.address.toLowerCase(),
    ]);
    expect(rows).toEqual([{ status: 'SETTLED' }]);
  }
});
