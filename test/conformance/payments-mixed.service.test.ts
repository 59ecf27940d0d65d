import pg from 'pg';
import { formatUnits, type Hex, parseAbiItem } from 'viem';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { FacilitatorRequest } from '../../src/gateway/chain/facilitator.ts';
import { findNetwork } from '../../src/gateway/chain/networks.ts';
import { type GatewayProcess, startGatewayProcess } from '../gateway/gateway-processes.ts';
import { smartWalletOn } from '../gateway/smart-wallet.ts';
import { createShop, networksEnv, type Rails, SELLER, startRails } from '../gateway/support.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import {
  allowedCalls,
  bodyOf,
  CREDENTIAL,
  isCharged,
  isFree,
  isToolError,
  type Plan,
  planPayments,
  ROUTES,
  type Route,
  requestOf,
  serve,
  type TestResponse,
  WAYS,
} from './payments-mix.ts';

/** The long version is `npm run prove:gateway`. */
const COUNT = Number(process.env.PAYMENT_COUNT ?? 110);
/** With more concurrent payments, the facilitators might not respond to all of them in time on a busy machine. */
const AT_ONCE = 45;
const TIMEOUT_MILLISECONDS = 120_000 + COUNT * 500;
const RICH_ATOMIC = 10n ** 12n;
const TRANSFER = parseAbiItem('event Transfer(address indexed from, address indexed to, uint256 value)');

type Shop = { projectId: string; isTest: boolean; endpointIds: Map<Route, string> };

let rails: Rails[];
let app: TestApp;
let gateways: GatewayProcess[];
let upstream: Receiver;
/** Open only to this project. */
let hidden: Receiver;
/** A live project and a test project with the same routes. */
let shops: Shop[];
let database: pg.Client;

const portOf = (url: string) => `127.0.0.1/32:${new URL(url).port}`;

beforeAll(async () => {
  rails = await Promise.all(['base', 'polygon', 'base-sepolia'].map((name) => startRails(findNetwork(name)!)));
  [upstream, hidden] = await Promise.all([startReceiver(), startReceiver()]);
  const networks = networksEnv(rails);
  app = await startTestApp({ env: { ...networks, ROLES: 'api,worker' } });
  database = new pg.Client({ connectionString: app.databaseUrl });
  await database.connect();
  const alice = await app.user('alice');
  shops = [await openShop(alice, false), await openShop(alice, true)];
  const services = rails.flatMap(({ facilitator, rpcUrl }) => [facilitator.url, rpcUrl]).map(portOf);
  const env = {
    ...networks,
    EGRESS_ALLOW: '',
    SERVICE_ALLOW: services.join(),
    UPSTREAM_ALLOW: [portOf(upstream.url), ...shops.map((shop) => `${portOf(hidden.url)}@${shop.projectId}`)].join(),
    // Otherwise, the free requests of all buyers would share a limit.
    TRUSTED_PROXIES: '127.0.0.1/32',
  };
  gateways = await Promise.all([1, 2, 3].map(() => startGatewayProcess(app, { env })));
});

afterAll(async () => {
  await Promise.all((gateways ?? []).map((gateway) => gateway.end('SIGKILL')));
  await database?.end();
  await app?.stop();
  await Promise.all([upstream?.close(), hidden?.close(), ...(rails ?? []).map((one) => one.close())]);
});

/** Creates a project with an endpoint for each route. */
async function openShop(owner: TestUser, isTest: boolean): Promise<Shop> {
  const { projectId, base } = await createShop(app, owner, {}, isTest ? 'TEST' : 'LIVE');
  const endpointIds = new Map<Route, string>();
  const made = async (method: string, path: string, body: object) => {
    const answer = await owner.rest<{ id: string }>(method, path, body);
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
    return answer.body.id;
  };
  for (const route of ROUTES) {
    const { path, methods, priceAtomic, isFirst, credential, isPrivate, timeoutSeconds, message } = route;
    // It is free on the endpoint whose tool calls are paid for.
    if (message === 'tools/list') continue;
    const upstreamUrl = `${(isPrivate ? hidden : upstream).url}${path.replace('/*', '')}`;
    const header = credential && { name: CREDENTIAL, value: credential.value };
    if (credential?.from === 'project') {
      await made('PATCH', base, { upstreamHeaders: [{ ...header, urlPrefix: upstreamUrl }] });
    }
    const id = await made('POST', `${base}/endpoints`, {
      path,
      upstreamUrl,
      priceUsd: formatUnits(priceAtomic, 6),
      ...(methods && { methods }),
      ...(isFirst && { settlement: 'BEFORE_REQUEST' }),
      ...(timeoutSeconds && { timeoutSeconds }),
      ...(message && { protocol: 'MCP' }),
      ...(credential?.from === 'endpoint' && { upstreamHeaders: [header] }),
    });
    endpointIds.set(route, id);
  }
  return { projectId, isTest, endpointIds };
}

const shopOf = ({ rails: { network } }: Plan) => shops.find(({ isTest }) => isTest === network.isTestnet)!;

/** Pays for a request as its plan says, and records the result. */
async function pay(plan: Plan, index: number): Promise<void> {
  const { path, way } = plan;
  const sent = requestOf(plan);
  const init = { ...sent, headers: { ...sent.headers, 'x-forwarded-for': `203.0.113.${index % 250}` } };
  plan.answers = await WAYS[way](plan, async (turn, send = fetch) => {
    const { url } = gateways[(index + turn) % gateways.length]!;
    const ask = async () => read(await send(`${url}/gateway/${shopOf(plan).projectId}${path}`, init));
    let answer = await ask();
    // On a slow machine, a facilitator may verify a payment too late. It isn't charged, and buyers send the request again.
    while (!plan.fate.verify && codeOf(answer) === 'FACILITATOR_UNAVAILABLE') answer = await ask();
    return answer;
  });
}

async function read(answer: Response): Promise<TestResponse> {
  return {
    status: answer.status,
    text: await answer.text().catch(() => undefined),
    paymentId: answer.headers.get('tollgate-payment-id'),
  };
}

/** The path that is paid for, as sent to the facilitator. */
function pathOf({ paymentPayload, paymentRequirements }: FacilitatorRequest): string {
  const { url } = (paymentPayload.resource ?? { url: paymentRequirements.resource }) as { url: string };
  return new URL(url).pathname.replace(/^\/gateway\/[^/]+/, '');
}

/** Returns the rows of a query that takes the projects' IDs as its first parameter. */
async function rowsOf<T extends object>(query: string, ...values: unknown[]): Promise<T[]> {
  return (await database.query<T>(query, [shops.map(({ projectId }) => projectId), ...values])).rows;
}

const codeOf = ({ text }: TestResponse) => /"code":"(\w+)"/.exec(text ?? '')?.[1];

const labelOf = ({ way, fate, rails: { network }, answers, ...plan }: Plan) =>
  `${bodyOf(plan)} on ${network.title}, ${way}, ${JSON.stringify(fate)}: ${answers.map((answer) => `${answer.status} ${codeOf(answer) ?? ''}`).join()}`;

const sum = (plans: Plan[]) => plans.reduce((total, { route }) => total + route.priceAtomic, 0n);

test('after many concurrent payments on every kind of route and network, in both modes, from wallets of each kind, some of which fail, the totals match on the chains, in the rows, in the books, and in the events', {
  timeout: TIMEOUT_MILLISECONDS,
}, async () => {
  const withKey = await Promise.all(Array.from({ length: 5 }, () => rails[0]!.wallet(0n)));
  for (const { address } of withKey) {
    for (const { chain } of rails) await chain.giveDollars(address, RICH_ATOMIC);
  }
  const smart = [false, true].map((isDeployed) => smartWalletOn(rails, { amountAtomic: RICH_ATOMIC, isDeployed }));
  const rich = [...withKey, ...(await Promise.all(smart))];
  const plans = planPayments(COUNT, rails, rich, await rails[0]!.wallet(0n));
  const byPath = new Map(plans.map((plan) => [plan.path, plan]));
  for (const receiver of [upstream, hidden]) receiver.handle(serve((path) => byPath.get(path)!));
  for (const { facilitator } of rails) {
    for (const operation of ['verify', 'settle'] as const) {
      facilitator.misbehave(operation, async (response, real, request) => {
        const { fate } = byPath.get(pathOf(request))!;
        if (fate[operation]) return fate[operation](response, real, request);
        response.end(JSON.stringify(await real()));
      });
    }
  }

  const waiting = plans.entries();
  const lanes = Array.from({ length: AT_ONCE }, async () => {
    for (const [index, plan] of waiting) await pay(plan, index);
  });
  await Promise.all(lanes);
  // Payments that were sent and never arrived stay open until they expire.
  for (const { chain } of rails) {
    await chain.client.increaseTime({ seconds: 900 });
    await chain.client.mine({ blocks: 1 });
  }
  const open = `SELECT id FROM "Payment" WHERE "projectId" = ANY($1) AND status NOT IN ('SETTLED', 'FAILED')`;
  await expect.poll(() => rowsOf(open), { interval: 250 }).toEqual([]);

  for (const plan of plans) {
    const what = labelOf(plan);
    const [fewest, most] = allowedCalls(plan);
    expect(plan.callCount, what).toBeGreaterThanOrEqual(fewest);
    expect(plan.callCount, what).toBeLessThanOrEqual(most);
    const served = plan.answers.filter((answer) => answer.status === 200 && !isToolError(answer));
    const texts = served.map(({ text }) => text);
    const whole = texts.filter((text) => text !== undefined);
    if (whole.length > 0) expect(plan.fate.isPaid, what).toBe(true);
    for (const text of whole) expect(text).toMatch(`served ${bodyOf(plan)}`);
    if (whole.length < texts.length) expect(plan.fate.upstream, what).toBe('breaks off');
    if (plan.fate.isOnce && plan.way === 'repeated') expect(whole, what).toHaveLength(1);
  }

  const charged = plans.filter(isCharged);
  const payments = await rowsOf<{
    id: string;
    status: string;
    stage: string | null;
    atomic: string;
    network: string;
    endpointId: string;
    method: string;
    transaction: Hex | null;
  }>(`SELECT id, status, "failureStage" AS stage, "amountAtomic"::text AS atomic, network, "endpointId", method,
             "transactionHash" AS transaction FROM "Payment" WHERE "projectId" = ANY($1)`);
  const known = new Set(plans.flatMap(({ answers }) => answers.flatMap(({ paymentId }) => paymentId ?? [])));
  expect(new Set(payments.map(({ id }) => id))).toEqual(known);
  for (const plan of plans) {
    const { route, answers, rails: own } = plan;
    const rows = payments.filter(({ id }) => answers.some(({ paymentId }) => paymentId === id));
    expect(rows.length > 0, labelOf(plan)).toBe(!isFree(plan));
    expect(
      rows.filter(({ status }) => status === 'SETTLED'),
      labelOf(plan),
    ).toHaveLength(isCharged(plan) ? 1 : 0);
    for (const row of rows) {
      expect(row).toMatchObject({
        atomic: route.priceAtomic.toString(),
        method: route.method,
        network: own.network.id,
        endpointId: shopOf(plan).endpointIds.get(route),
      });
    }
  }

  for (const one of rails) {
    const { chain, network } = one;
    const paidHere = charged.filter((plan) => plan.rails === one);
    expect(await chain.balanceOf(SELLER)).toBe(sum(paidHere));
    for (const { address } of rich) {
      const spent = sum(paidHere.filter(({ buyer }) => buyer.address === address));
      expect(await chain.balanceOf(address)).toBe(RICH_ATOMIC - spent);
    }
    const filter = { address: network.asset.address, event: TRANSFER, args: { to: SELLER } } as const;
    const transfers = await chain.client.getLogs({ ...filter, fromBlock: 0n });
    const settled = payments.filter((row) => row.network === network.id && row.status === 'SETTLED');
    const asRow = (transaction: Hex | null, atomic: bigint | string | undefined) => `${transaction} ${atomic}`;
    expect(transfers.map(({ transactionHash, args }) => asRow(transactionHash, args.value)).sort()).toEqual(
      settled.map(({ transaction, atomic }) => asRow(transaction, atomic)).sort(),
    );
  }

  for (const { address } of rich) {
    for (const shop of shops) {
      const own = charged.filter((plan) => plan.buyer.address === address && shopOf(plan) === shop);
      const customers = `SELECT "totalAtomic"::text AS total, "paymentCount" AS count FROM "Customer"
                         WHERE "projectId" = ANY($1) AND "walletAddress" = $2 AND "projectId" = $3`;
      const expected = own.length > 0 ? [{ total: sum(own).toString(), count: own.length }] : [];
      expect(await rowsOf(customers, address, shop.projectId)).toEqual(expected);
    }
  }
  // Payments that failed verification aren't counted, because their sender is unproven.
  const failed = payments.filter(({ status, stage }) => status === 'FAILED' && stage !== 'VERIFY');
  const days = await rowsOf<{ endpointId: string; total: string; paid: number; failed: number }>(
    `SELECT "endpointId", sum("totalAtomic")::text AS total, sum("paymentCount")::int AS paid,
            sum("failedCount")::int AS failed FROM "RevenueDay" WHERE "projectId" = ANY($1) GROUP BY "endpointId"`,
  );
  const books = shops.flatMap((shop) => [...shop.endpointIds].map((entry) => [shop, ...entry] as const));
  for (const [shop, route, endpointId] of books) {
    const own = charged.filter((plan) => plan.route === route && shopOf(plan) === shop);
    const book = days.find((day) => day.endpointId === endpointId);
    expect(book ?? { total: '0', paid: 0, failed: 0 }, `${route.method} ${route.path}`).toMatchObject({
      total: sum(own).toString(),
      paid: own.length,
      failed: failed.filter((row) => row.endpointId === endpointId).length,
    });
  }

  const events = await rowsOf<{ type: string; id: string; atomic: string }>(
    `SELECT type, data->>'paymentId' AS id, data->>'amountAtomic' AS atomic FROM "Event"
     WHERE "projectId" = ANY($1) AND type IN ('payment.settled', 'payment.failed')`,
  );
  const told = (type: string) =>
    events.filter((event) => event.type === type).map(({ id, atomic }) => `${id} ${atomic}`);
  const stored = (rows: typeof payments) => rows.map(({ id, atomic }) => `${id} ${atomic}`).sort();
  expect(told('payment.settled').sort()).toEqual(stored(payments.filter(({ status }) => status === 'SETTLED')));
  expect(told('payment.failed').sort()).toEqual(stored(failed));
});
