import { randomUUID } from 'node:crypto';
import type { PrivateKeyAccount } from 'viem/accounts';
import { expect } from 'vitest';
import type { Misbehaviour } from '../gateway/chain/facilitator-server.ts';
import { accepted, sign, v2Headers } from '../gateway/sign.ts';
import { payingFetch, payingFetchV1, type Rails } from '../gateway/support.ts';
import type { ReceiverHandler, TestResponse as Served } from '../support/receiver.ts';

/** The upstream gets a seller's credential in this header. */
export const CREDENTIAL = 'x-api-key';

export type Route = {
  path: string;
  /** What buyers send. */
  method: string;
  /** What the endpoint serves. */
  methods?: string[];
  priceAtomic: bigint;
  /** Settled before the request. */
  isFirst?: true;
  /** The upstream rejects requests with another credential, or with one that it doesn't expect. */
  credential?: { value: string; from: 'endpoint' | 'project' };
  /** The upstream is open only to this project. */
  isPrivate?: true;
  /** The endpoint's time limit, if it isn't the default. */
  timeoutSeconds?: number;
  /** Buyers send this message to an MCP endpoint. Only tool calls cost something. */
  message?: 'tools/call' | 'tools/list';
};

/** Routes of each kind. Three have the same path and different methods, and two belong to the same MCP endpoint. */
export const ROUTES: Route[] = [
  { path: '/cheap/*', method: 'GET', priceAtomic: 1n },
  { path: '/fair/*', method: 'GET', priceAtomic: 10_000n },
  { path: '/dear/*', method: 'POST', priceAtomic: 999_999n },
  { path: '/first/*', method: 'POST', priceAtomic: 20_000n, isFirst: true, timeoutSeconds: 600 },
  { path: '/items/*', method: 'GET', methods: ['GET', 'HEAD'], priceAtomic: 300n },
  { path: '/items/*', method: 'POST', methods: ['POST', 'PUT'], priceAtomic: 70_000n },
  { path: '/items/*', method: 'DELETE', methods: ['DELETE'], priceAtomic: 5n, isFirst: true },
  { path: '/free/*', method: 'POST', priceAtomic: 0n },
  { path: '/own/*', method: 'GET', priceAtomic: 4_000n, credential: { value: 'of the endpoint', from: 'endpoint' } },
  { path: '/inherited/*', method: 'GET', priceAtomic: 50n, credential: { value: 'of the project', from: 'project' } },
  { path: '/mcp/*', method: 'POST', priceAtomic: 8_000n, message: 'tools/call' },
  { path: '/mcp/*', method: 'POST', priceAtomic: 0n, message: 'tools/list' },
  {
    path: '/private/*',
    method: 'GET',
    priceAtomic: 600n,
    isFirst: true,
    isPrivate: true,
    credential: { value: 'of the private endpoint', from: 'endpoint' },
  },
];

/** What goes wrong with a payment, and where. */
type Fate = {
  /** Whether the payment must still end up paid if it is settled after the response. */
  isPaid: boolean;
  upstream?: 'fails' | 'breaks off';
  /** Whether the upstream serves the second call. Only for payments that are settled first. */
  isOnce?: true;
  verify?: Misbehaviour;
  settle?: Misbehaviour;
};

const FATES = {
  good: { isPaid: true },
  poor: { isPaid: false },
  upstreamFails: { isPaid: false, upstream: 'fails' },
  upstreamBreaksOff: { isPaid: false, upstream: 'breaks off' },
  upstreamFailsOnce: { isPaid: true, upstream: 'fails', isOnce: true },
  upstreamBreaksOffOnce: { isPaid: true, upstream: 'breaks off', isOnce: true },
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
} satisfies Record<string, Fate>;
/** Nothing goes wrong in about half of the plans. */
const FATES_IN_TURN: Fate[] = [...Object.values(FATES), ...Array.from({ length: 7 }, () => FATES.good)];

export type Plan = {
  route: Route;
  /** Differs from every other plan's path. */
  path: string;
  fate: Fate;
  way: keyof typeof WAYS;
  rails: Rails;
  buyer: PrivateKeyAccount;
  /** The number of calls that the upstream has counted. */
  callCount: number;
  answers: TestResponse[];
};

/** The response that a buyer gets. The text is undefined if the response was cut off. */
export type TestResponse = { status: number; text: string | undefined; paymentId: string | null };

type Send = (url: string, init: RequestInit & { headers: Record<string, string> }) => Promise<Response>;
type Ask = (turn: number, send?: Send) => Promise<TestResponse>;

/** The ways in which buyers pay. `ask` sends the plan's request to the next process in turn. */
export const WAYS = {
  stockVersion2: async ({ buyer, rails }, ask) => [await ask(0, payingFetch(buyer, rails.network))],
  stockVersion1: async ({ buyer, rails }, ask) => [await ask(0, payingFetchV1(buyer, rails.network))],
  twiceAtOnce: async (plan, ask) => {
    const send = sending(await signed(plan));
    return Promise.all([ask(0, send), ask(1, send)]);
  },
  /** Sends the request again after the first response, but never a third time, even if both fail. */
  repeated: async (plan, ask) => {
    const send = sending(await signed(plan));
    const answers = [await ask(0, send)];
    const repeat = async () => {
      answers[1] = await ask(1, send);
      return answers[1].status;
    };
    await expect.poll(repeat, { interval: 250 }).not.toBe(409);
    return answers;
  },
  signedTwice: async (plan, ask) => {
    const extensions = { 'payment-identifier': { info: { required: false, id: `order_${randomUUID()}` } } };
    const both = [await signed(plan, { extensions }), await signed(plan, { extensions })];
    return Promise.all(both.map((headers, turn) => ask(turn, sending(headers))));
  },
} satisfies Record<string, (plan: Plan, ask: Ask) => Promise<TestResponse[]>>;

const sending =
  (payment: Record<string, string>): Send =>
  (url, init) =>
    fetch(url, { ...init, headers: { ...init.headers, ...payment } });

/** A new payment at the route's price. For a free route, which must ignore the payment, it is worth a cent. */
async function signed({ buyer, route, rails: { network } }: Plan, changes: object = {}) {
  const value = (route.priceAtomic || 10_000n).toString();
  return v2Headers(await sign(buyer, { value }, network), { accepted: accepted(value, network), ...changes });
}

/**
 * Plans this many payments. The lists' lengths have no common divisor, so every combination comes up sooner or later.
 */
export function planPayments(count: number, rails: Rails[], rich: PrivateKeyAccount[], poor: PrivateKeyAccount) {
  const ways = Object.keys(WAYS) as (keyof typeof WAYS)[];
  return Array.from({ length: count }, (_, index): Plan => {
    const route = ROUTES[index % ROUTES.length]!;
    const drawn = FATES_IN_TURN[index % FATES_IN_TURN.length]!;
    const canHave = route.priceAtomic > 0n && (route.isFirst || !drawn.isOnce);
    return {
      route,
      fate: canHave ? drawn : FATES.good,
      path: route.path.replace('*', String(index)),
      way: ways[index % ways.length]!,
      rails: rails[index % rails.length]!,
      buyer: drawn === FATES.poor ? poor : rich[index % rich.length]!,
      callCount: 0,
      answers: [],
    };
  });
}

export const isFree = ({ route }: Plan): boolean => route.priceAtomic === 0n;

/** Whether a payment is settled. If the upstream is called after the settlement, its failure doesn't matter. */
export const isCharged = (plan: Plan): boolean =>
  !isFree(plan) && (plan.fate.isPaid || (plan.route.isFirst === true && plan.fate.upstream !== undefined));

/** What the buyer sends, except for the payment. */
export function requestOf({ route: { method, message }, path }: Plan): {
  method: string;
  headers: Record<string, string>;
  body?: string;
} {
  if (message) {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: message, params: { name: path } });
    return { method, headers: { 'content-type': 'application/json' }, body };
  }
  return { method, headers: {}, ...(method === 'POST' && { body: `order ${path}` }) };
}

/** Whether a response says that a tool call failed, which costs nothing. */
export const isToolError = ({ text }: TestResponse): boolean => text === toolError(1);

const JSON_TYPE = { 'content-type': 'application/json' };
const toolError = (id: unknown) => JSON.stringify({ jsonrpc: '2.0', id, result: { content: [], isError: true } });
/** The ways in which an upstream can fail without cutting off the connection. */
const FAILURES: Served[] = [
  { statusCode: 500, body: 'oops' },
  { statusCode: 402, body: '{}' },
  { statusCode: 302, headers: { location: 'https://elsewhere.example/' } },
];

export const bodyOf = ({ route, path }: Pick<Plan, 'route' | 'path'>): string => `${route.method} ${path}`;

/** The minimum and maximum number of upstream calls that the documentation allows. */
export function allowedCalls({ route, fate, way, answers }: Plan): [number, number] {
  const isAskedTwice = !way.startsWith('stock');
  if (route.priceAtomic === 0n) return [answers.length, answers.length];
  if (fate === FATES.poor || fate.verify) return [0, 0];
  if (!route.isFirst) {
    // Each authorization can cause one call that isn't paid for. With an identifier, the second authorization is used
    // if the first one failed.
    return [1, fate.upstream && way === 'signedTwice' ? 2 : 1];
  }
  if (fate === FATES.settleUnsent) return [0, 0];
  if (fate.upstream) return way === 'repeated' ? [2, 2] : [1, isAskedTwice ? 2 : 1];
  // If the process gives up before the settlement is certain, the buyer has to repeat the request.
  return [fate.settle ? 0 : 1, 1];
}

/** An upstream that serves the plans' requests, and fails when a plan says so. */
export function serve(planAt: (path: string) => Plan): ReceiverHandler {
  return ({ method, path, headers, body }, response): Served | undefined => {
    const plan = planAt(path);
    const { route, fate } = plan;
    plan.callCount++;
    if (method !== route.method || headers[CREDENTIAL] !== route.credential?.value) return { statusCode: 401 };
    const fails = fate.upstream !== undefined && !(fate.isOnce && plan.callCount > 1);
    const text = `served ${bodyOf(plan)} ${body}`;
    // The gateway gives a paid call another ID.
    const id = route.message && JSON.parse(body.toString()).id;
    if (!fails) {
      return route.message
        ? { headers: JSON_TYPE, body: JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ text }] } }) }
        : { body: text };
    }
    if (fate.upstream === 'fails') {
      return route.message ? { headers: JSON_TYPE, body: toolError(id) } : FAILURES[path.length % FAILURES.length]!;
    }
    response.writeHead(200);
    response.write('half', () => response.destroy());
    return undefined;
  };
}
