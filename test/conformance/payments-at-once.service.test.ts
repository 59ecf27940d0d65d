import pg from 'pg';
import type { PrivateKeyAccount } from 'viem/accounts';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { FacilitatorRequest } from '../../src/gateway/chain/facilitator.ts';
import type { Misbehaviour } from '../gateway/chain/facilitator-server.ts';
import { type GatewayProcess, startGatewayProcess } from '../gateway/gateway-processes.ts';
import { sign, v2Headers } from '../gateway/sign.ts';
import { createShop, payingFetch, payingFetchV1, type Rails, SELLER, startRails } from '../gateway/support.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';

/** The long form is `npm run prove:gateway`. */
const ROUNDS = Number(process.env.PAYMENT_ROUNDS ?? 2);
const COUNT = Number(process.env.PAYMENT_COUNT ?? 90);
/** With more at once, the single facilitator might not respond to all of them in time on a busy machine. */
const AT_ONCE = 45;
const TIMEOUT_MILLISECONDS = 60_000 + (ROUNDS + COUNT / 10) * 3_000;

/** Endpoints by price, in atomic units. */
const PATHS = { '/cheap/*': 1n, '/fair/*': 10_000n, '/dear/*': 999_999n } as const;

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
  shop = await createShop(app, alice, {
    '/cheap/*': { upstreamUrl: `${upstream.url}/cheap`, priceUsd: '0.000001' },
    '/fair/*': { upstreamUrl: `${upstream.url}/fair`, priceUsd: '0.01' },
    '/dear/*': { upstreamUrl: `${upstream.url}/dear`, priceUsd: '0.999999' },
  });
});

beforeEach(() => {
  upstream.requests.length = 0;
  rails.facilitator.calls.length = 0;
});

afterAll(async () => {
  await Promise.all((gateways ?? []).map((gateway) => gateway.end('SIGKILL')));
  await database?.end();
  await app?.stop();
  await upstream?.close();
  await rails?.close();
});

type Answer = {
  status: number;
  text: string;
  receipt: string | null;
  paymentId: string | null;
  retryAfter: string | null;
};

const urlOf = (index: number, path: string) => `${gateways[index % 3]!.url}/gateway/${shop.projectId}${path}`;

async function ask(index: number, path: string, headers: Record<string, string>): Promise<Answer> {
  return read(await fetch(urlOf(index, path), { headers }));
}

async function read(answer: Response): Promise<Answer> {
  return {
    status: answer.status,
    text: await answer.text(),
    receipt: answer.headers.get('payment-response') ?? answer.headers.get('x-payment-response'),
    paymentId: answer.headers.get('tollgate-payment-id'),
    retryAfter: answer.headers.get('retry-after'),
  };
}

test('one payment sent 100 times at once through three processes causes one upstream call and one settlement', {
  timeout: TIMEOUT_MILLISECONDS,
}, async () => {
  for (let round = 0; round < ROUNDS; round++) {
    upstream.requests.length = 0;
    rails.facilitator.calls.length = 0;
    const { promise: othersAnswered, resolve: release } = Promise.withResolvers<void>();
    // In every other round, the first request is still running when all others have their response.
    const isHeld = round % 2 === 0;
    upstream.handle(async ({ path }) => {
      if (isHeld) await othersAnswered;
      return { body: `served ${path}` };
    });
    const buyer = await rails.wallet(20_000n);
    const headers = v2Headers(await sign(buyer));
    let refusals = 0;

    const answers = await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        const answer = await ask(index, `/fair/${round}`, headers);
        if (answer.status !== 200) refusals += 1;
        if (refusals === 99) release();
        return answer;
      }),
    );

    const served = answers.filter(({ status }) => status === 200);
    const refused = answers.filter(({ status }) => status !== 200);
    expect(served.length).toBeGreaterThanOrEqual(1);
    if (isHeld) expect(refused).toHaveLength(99);
    for (const answer of served) expect(answer).toEqual(served[0]);
    expect(served[0]!.text).toBe(`served /fair/${round}`);
    for (const { status, text, retryAfter, paymentId } of refused) {
      const { code } = JSON.parse(text) as { code: string };
      expect([status, code, retryAfter]).toEqual([409, 'PAYMENT_IN_PROGRESS', '1']);
      expect(paymentId).toBe(served[0]!.paymentId);
    }
    const again = await Promise.all(answers.map((_answer, index) => ask(index, `/fair/${round}`, headers)));
    for (const answer of again) expect(answer).toEqual(served[0]);
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

/** What goes wrong with a payment, and where. `isPaid` says whether it must still end up paid. */
const FATES = {
  good: { isPaid: true },
  poor: { isPaid: false },
  upstreamFails: { isPaid: false, upstream: 500 },
  upstreamBreaksOff: { isPaid: false, upstream: 0 },
  verifyFails: { isPaid: false, verify: (response) => void response.writeHead(500).end('oops') },
  settleUnsent: { isPaid: false, settle: (response) => void response.destroy() },
  answerLost: {
    isPaid: true,
    settle: async (response, real) => {
      await real();
      response.destroy();
    },
  },
  answerGarbled: {
    isPaid: true,
    settle: async (response, real) => {
      await real();
      response.end('<html>');
    },
  },
} satisfies Record<string, { isPaid: boolean; upstream?: number; verify?: Misbehaviour; settle?: Misbehaviour }>;
type Fate = (typeof FATES)[keyof typeof FATES] & { upstream?: number; verify?: Misbehaviour; settle?: Misbehaviour };
/** More than half of the payments succeed. */
const NAMES = [...Object.keys(FATES), ...Array.from({ length: 8 }, () => 'good')] as (keyof typeof FATES)[];

type Planned = { path: string; price: bigint; fate: Fate; buyer: PrivateKeyAccount; paymentIds: Set<string> };

/** How a buyer pays: with a stock client, or with two raw requests at once through two processes. */
const WAYS: ((planned: Planned, index: number) => Promise<Answer[]>)[] = [
  async ({ buyer, path }, index) => [await read(await payingFetch(buyer)(urlOf(index, path)))],
  async ({ buyer, path }, index) => [await read(await payingFetchV1(buyer)(urlOf(index, path)))],
  async ({ buyer, path, price }, index) => {
    const headers = v2Headers(await sign(buyer, { value: price.toString() }));
    return Promise.all([ask(index, path, headers), ask(index + 1, path, headers)]);
  },
];

test('many payments at once, some of which fail, add up on the chain, in the rows, in the books, and in the events', {
  timeout: TIMEOUT_MILLISECONDS,
}, async () => {
  const rich = await Promise.all(Array.from({ length: 7 }, () => rails.wallet(10n ** 12n)));
  const poor = await rails.wallet(0n);
  const planned: Planned[] = [];
  for (let index = 0; index < COUNT; index++) {
    const fate: Fate = FATES[NAMES[index % NAMES.length]!];
    const [pattern, price] = Object.entries(PATHS)[Math.floor(Math.random() * 3)]!;
    const buyer = fate === FATES.poor ? poor : rich[Math.floor(Math.random() * rich.length)]!;
    planned.push({ path: pattern.replace('*', String(index)), price, fate, buyer, paymentIds: new Set() });
  }
  const byPath = new Map(planned.map((plan) => [plan.path, plan]));
  upstream.handle(({ path }, response) => {
    const { fate } = byPath.get(path)!;
    if (fate.upstream === 0) return void response.destroy();
    return { statusCode: fate.upstream ?? 200, body: `served ${path}` };
  });
  for (const operation of ['verify', 'settle'] as const) {
    rails.facilitator.misbehave(operation, async (response, real, request) => {
      const fate = byPath.get(pathOf(request))!.fate;
      if (fate[operation]) return fate[operation](response, real, request);
      response.end(JSON.stringify(await real()));
    });
  }
  const before = await rails.chain.balanceOf(SELLER);
  const days = async () => {
    const { rows } = await database.query(
      `SELECT coalesce(sum("totalAtomic"), 0)::text AS total, coalesce(sum("paymentCount"), 0)::int AS paid,
              coalesce(sum("failedCount"), 0)::int AS failed FROM "RevenueDay" WHERE "projectId" = $1`,
      [shop.projectId],
    );
    return rows[0] as { total: string; paid: number; failed: number };
  };
  const daysBefore = await days();

  const waiting = planned.entries();
  const lanes = Array.from({ length: AT_ONCE }, async () => {
    for (const [index, plan] of waiting) {
      const { path, fate, paymentIds } = plan;
      const answers = await WAYS[index % WAYS.length]!(plan, index);
      for (const { paymentId } of answers) if (paymentId) paymentIds.add(paymentId);
      const texts = answers.filter(({ status }) => status === 200).map(({ text }) => text);
      for (const text of texts) expect([fate.isPaid, text]).toEqual([true, `served ${path}`]);
    }
  });
  await Promise.all(lanes);
  // Payments that were sent and never arrived stay open until they expire.
  await rails.chain.client.increaseTime({ seconds: 900 });
  await rails.chain.client.mine({ blocks: 1 });
  const open = `SELECT id FROM "Payment" WHERE status NOT IN ('SETTLED', 'FAILED')`;
  await expect.poll(async () => (await database.query(open)).rows, { interval: 250 }).toEqual([]);

  const expected = planned.filter(({ fate }) => fate.isPaid);
  const sum = (some: Planned[]) => some.reduce((total, { price }) => total + price, 0n);
  expect(new Set(expected.map(({ price }) => price)).size).toBe(3);
  expect((await rails.chain.balanceOf(SELLER)) - before).toBe(sum(expected));
  for (const account of rich) {
    const spent = sum(expected.filter(({ buyer }) => buyer === account));
    expect(await rails.chain.balanceOf(account.address)).toBe(10n ** 12n - spent);
    expect(await customerOf(account.address)).toEqual({
      total: spent.toString(),
      count: expected.filter(({ buyer }) => buyer === account).length,
    });
  }
  const { rows } = await database.query<{ id: string; status: string; stage: string | null; amountAtomic: string }>(
    'SELECT id, status, "failureStage" AS stage, "amountAtomic" FROM "Payment" WHERE id = ANY($1)',
    [planned.flatMap(({ paymentIds }) => [...paymentIds])],
  );
  for (const { fate, paymentIds, price } of planned) {
    const own = rows.filter(({ id }) => paymentIds.has(id));
    expect(own.length).toBeGreaterThanOrEqual(1);
    expect(own.filter(({ status }) => status === 'SETTLED')).toHaveLength(fate.isPaid ? 1 : 0);
    for (const { amountAtomic } of own) expect(amountAtomic).toBe(price.toString());
  }
  const daysAfter = await days();
  // Payments that failed verification aren't counted, because nobody proved who sent them.
  const failed = rows.filter(({ status, stage }) => status === 'FAILED' && stage !== 'VERIFY');
  expect(BigInt(daysAfter.total) - BigInt(daysBefore.total)).toBe(sum(expected));
  expect(daysAfter.paid - daysBefore.paid).toBe(expected.length);
  expect(daysAfter.failed - daysBefore.failed).toBe(failed.length);

  const events = await eventsOf(rows.map(({ id }) => id));
  const settled = events.filter(({ type }) => type === 'payment.settled');
  expect(settled).toHaveLength(expected.length);
  expect(settled.reduce((total, { amount }) => total + BigInt(amount), 0n)).toBe(sum(expected));
  expect(events.filter(({ type }) => type === 'payment.failed')).toHaveLength(failed.length);
  expect(upstream.requests.length).toBe(new Set(upstream.requests.map(({ path }) => path)).size);
});

/** The path that is paid for, as sent to the facilitator. */
function pathOf({ paymentPayload, paymentRequirements }: FacilitatorRequest): string {
  const { url } = (paymentPayload.resource ?? { url: paymentRequirements.resource }) as { url: string };
  return new URL(url).pathname.replace(/^\/gateway\/[^/]+/, '');
}

async function customerOf(address: string): Promise<{ total: string; count: number }> {
  const { rows } = await database.query(
    `SELECT "totalAtomic"::text AS total, "paymentCount" AS count FROM "Customer" WHERE "walletAddress" = $1`,
    [address],
  );
  return rows[0] ?? { total: '0', count: 0 };
}

async function eventsOf(paymentIds: string[]): Promise<{ type: string; amount: string }[]> {
  const { rows } = await database.query(
    `SELECT type, data->>'amountAtomic' AS amount FROM "Event" WHERE data->>'paymentId' = ANY($1)`,
    [paymentIds],
  );
  return rows;
}
