/** A process with everything that uses the service: sellers, buyers, dashboards, and the receivers of deliveries. */
import { setTimeout as sleep } from 'node:timers/promises';
import { openDevIssuer } from '../../src/auth/dev-issuer.ts';
import { now, serve } from '../support/child.ts';
import { createBuyers } from './buyers.ts';
import { createMarks, createTimes, type Times } from './marks.ts';
import { startReceivers } from './receivers.ts';
import { atRate, createCaller } from './requests.ts';
import { type Dashboard, openDashboard } from './sockets.ts';

export type ClientMethods = typeof methods;
/** The rates are per second. `sockets` is a count. */
export type Rates = { payments: number; changes: number; reads: number; sockets: number };
type Stage = { apiUrl: string; gatewayUrl: string; upstreamUrl: string; dataDir: string };
type Token = () => Promise<string>;
/** Each shop has its own account, because the number of sockets per account is limited. */
type Shop = {
  base: string;
  projectId: string;
  endpoints: string[];
  down: string;
  token: Token;
  call: ReturnType<typeof createCaller>;
};

const SHOPS = 2;
const ENDPOINTS_PER_SHOP = 10;
const SELLER = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045';
const TOKEN_SECONDS = 3_600;
const BEFORE_MOVE_MILLISECONDS = 5_000;
/** By then, every process has measured the database's clock. */
const FOLLOWED_AFTER_MILLISECONDS = 10_000;
const PROJECT = `
  query ($id: ID!) {
    project(id: $id) { name endpoints(first: 10) { nodes { path priceUsd } } webhooks { nodes { url failingSince } } }
  }`;

const marks = createMarks();
const times = createTimes();
const receivers = await startReceivers(marks, times);
let retries = 0;
let shops: Shop[] = [];
let dashboards: Dashboard[] = [];
let buyers: Awaited<ReturnType<typeof createBuyers>>;
let stops: (() => Promise<void>)[] = [];
/** When the clock was moved. */
const movedAt: number[] = [];

/** Returns a function that returns a valid token. Tokens expire early when the clock moves. */
async function tokenSource(dataDir: string, subject: string): Promise<Token> {
  const issuer = await openDevIssuer({ dataDir });
  let token = Promise.resolve('');
  let renewAt = 0;
  return () => {
    if (Date.now() >= renewAt) {
      renewAt = Date.now() + (TOKEN_SECONDS / 2) * 1000;
      token = issuer.sign({
        subject,
        tier: 'ENTERPRISE',
        requestsPerMinute: null,
        expiresInSeconds: TOKEN_SECONDS,
      });
    }
    return token;
  };
}

async function createShop({ apiUrl, upstreamUrl, dataDir }: Stage, subject: string): Promise<Shop> {
  const token = await tokenSource(dataDir, subject);
  const call = createCaller(apiUrl, token, () => {
    retries += 1;
  });
  const create = async (path: string, body: unknown) => (await call<{ id: string }>('POST', path, body)).id;
  const projectId = await create('/api/projects', { name: 'Shop', walletAddress: SELLER });
  const base = `/api/projects/${projectId}`;
  const endpoint = { upstreamUrl, priceUsd: '0.01' };
  await create(`${base}/endpoints`, { ...endpoint, path: '/data' });
  const endpoints: string[] = [];
  for (let index = 0; index < ENDPOINTS_PER_SHOP; index++)
    endpoints.push(await create(`${base}/endpoints`, { ...endpoint, path: `/lane-${index}` }));
  const changes = { eventTypes: ['endpoint.pricing_changed'] };
  await create(`${base}/webhooks`, { url: `${receivers.url}/good`, eventTypes: ['*'] });
  await create(`${base}/webhooks`, { url: `${receivers.url}/flaky`, ...changes });
  const down = await create(`${base}/webhooks`, { url: `${receivers.url}/down`, ...changes });
  return { base, projectId, endpoints, down, token, call };
}

async function changePrice(index: number): Promise<void> {
  const shop = index % shops.length;
  const { base, endpoints, call } = shops[shop]!;
  const endpoint = endpoints[Math.floor(index / shops.length) % endpoints.length];
  const number = marks.next(shop);
  const startedAt = now();
  await call('PATCH', `${base}/endpoints/${endpoint}`, { priceUsd: marks.priceOf(number) });
  times.add('requests', now() - startedAt);
  marks.acknowledged.push(number);
}

async function read(index: number): Promise<void> {
  const { base, projectId, call } = shops[index % shops.length]!;
  const startedAt = now();
  if (index % 3 === 0) await call('GET', `${base}/deliveries?limit=20`);
  else if (index % 3 === 1) await call('GET', `${base}/endpoints`);
  else {
    const { errors } = await call<{ errors?: unknown }>('POST', '/graphql', {
      query: PROJECT,
      variables: { id: projectId },
    });
    if (errors) throw new Error(JSON.stringify(errors));
  }
  times.add('requests', now() - startedAt);
}

/** Changes prices until every dashboard has seen a change, and has a cursor to continue from. */
async function reachDashboards(): Promise<void> {
  while (dashboards.some(({ hasCursor }) => !hasCursor())) {
    for (const shop of shops.keys()) await changePrice(shop);
    await sleep(500);
  }
}

/**
 * Whether the change was made while processes had different times. Events must become visible within 30 seconds of
 * their time, so dashboards may miss events from a process that is a week behind another.
 */
function isBetweenClocks(number: number): boolean {
  const sentAt = marks.sentAt(number);
  return movedAt.some(
    (time) => sentAt > time - BEFORE_MOVE_MILLISECONDS && sentAt < time + FOLLOWED_AFTER_MILLISECONDS,
  );
}

const methods = {
  /** Creates the shops and connects the dashboards. */
  async open(stage: Stage, rates: Rates): Promise<void> {
    const { apiUrl, gatewayUrl } = stage;
    for (let index = 0; index < SHOPS; index++) shops = [...shops, await createShop(stage, `seller ${index}`)];
    const urlOf = ({ projectId }: Shop) => `${gatewayUrl}/gateway/${projectId}/data`;
    while ((await fetch(urlOf(shops[0]!))).status !== 402) await sleep(100);
    buyers = await createBuyers(urlOf(shops[0]!), times);
    dashboards = await Promise.all(
      Array.from({ length: rates.sockets }, (_, index) => {
        const { projectId, token } = shops[index % SHOPS]!;
        return openDashboard({ url: apiUrl, projectId, token, marks, times });
      }),
    );
    await reachDashboards();
    times.take();
  },

  start(rates: Rates): void {
    stops = [
      atRate(rates.payments, buyers.buy),
      atRate(rates.changes, changePrice),
      atRate(rates.reads, read),
      // Destinations that fail for days are disabled.
      atRate(1 / 30, async (index) => {
        const { base, down, call } = shops[index % SHOPS]!;
        await call('PATCH', `${base}/webhooks/${down}`, { isActive: true });
      }),
    ];
  },

  take: (): Times => times.take(),

  /** Must be called right before the clock is moved. */
  clockMoves(): void {
    movedAt.push(now());
  },

  async stop(): Promise<void> {
    await Promise.all(stops.map((stop) => stop()));
  },

  /** Counts what has been acknowledged but hasn't arrived yet. */
  missing() {
    const lacking = (numbers: readonly number[], arrived: Set<number>) =>
      numbers.filter((number) => !arrived.has(number)).length;
    return {
      deliveries: lacking(marks.acknowledged, receivers.good),
      retriedDeliveries: lacking(marks.acknowledged, receivers.flaky),
      frames: dashboards
        .map(({ projectId, seen }) => {
          const shop = shops.findIndex((candidate) => candidate.projectId === projectId);
          // Changes before the dashboard's first frame were never meant for it.
          const first = Math.min(...seen);
          return lacking(
            marks.ofShop(shop).filter((number) => number >= first && !isBetweenClocks(number)),
            seen,
          );
        })
        .reduce((sum, count) => sum + count, 0),
    };
  },

  /** The totals for the whole run. */
  totals: () => ({
    changes: marks.acknowledged.length,
    deliveryRequests: receivers.requests(),
    connections: dashboards.reduce((sum, { connections }) => sum + connections(), 0),
    frames: dashboards.reduce((sum, { seen }) => sum + seen.size, 0),
    retries: retries + buyers.retries(),
    changesBetweenClocks: marks.acknowledged.filter(isBetweenClocks).length,
    served: [...buyers.served],
    settledEvents: receivers.settled.size,
    priceAtomic: buyers.terms.amount,
  }),

  async close(): Promise<void> {
    await Promise.all(dashboards.map(({ close }) => close()));
  },
};

serve(methods);
