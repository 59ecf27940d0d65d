import pino from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { type Receiver, startReceiver, type TestResponse } from '../../support/receiver.ts';
import { sign, v2Headers } from '../sign.ts';
import { createShop, type Rails, startRails } from '../support.ts';

type Line = { level: number; msg: string; operation?: string; err?: { message: string; advice?: string } };

let rails: Rails;
let app: TestApp;
let alice: TestUser;
let upstream: Receiver;
/** The address in `FACILITATOR_URL` and `RPC_URL`, which redirects. */
let front: Receiver;
let shop: Awaited<ReturnType<typeof createShop>>;
let env: Record<string, string>;

beforeAll(async () => {
  rails = await startRails();
  upstream = await startReceiver(() => ({ body: 'served' }));
  front = await startReceiver();
  env = { ...rails.env, FACILITATOR_URL: front.url, RPC_URL: `${front.url}/rpc` };
  app = await startTestApp({ env });
  alice = await app.user('alice');
  shop = await createShop(app, alice, { '/weather': { upstreamUrl: `${upstream.url}/now` } });
});

beforeEach(() => {
  upstream.requests.length = 0;
  front.requests.length = 0;
  rails.facilitator.calls.length = 0;
  forward();
});

afterAll(async () => {
  await app?.stop();
  await front?.close();
  await upstream?.close();
  await rails?.close();
});

const to = (statusCode: number, location: string): TestResponse => ({ statusCode, headers: { location } });

/** Redirects to the real facilitator and node, with these exceptions by path. */
function forward(exceptions: Record<string, TestResponse> = {}) {
  front.handle(({ path }) => {
    const real = path === '/rpc' ? rails.rpcUrl : rails.facilitator.url + path;
    return exceptions[path] ?? to(path === '/supported' ? 308 : 307, real);
  });
}

async function buy() {
  const buyer = await rails.wallet(10_000n);
  const response = await fetch(`${shop.url}/weather`, { headers: v2Headers(await sign(buyer)) });
  const text = await response.text();
  const id = response.headers.get('tollgate-payment-id');
  const payment = (await alice.rest<Record<string, unknown>>('GET', `${shop.base}/payments/${id}`)).body;
  return { status: response.status, text, payment, leftAtomic: () => rails.chain.balanceOf(buyer.address) };
}

describe('a facilitator that redirects', () => {
  test('verifies and settles payments if the redirects keep the method', async () => {
    const { status, text, leftAtomic } = await buy();
    expect([status, text, await leftAtomic()]).toEqual([200, 'served', 0n]);
    expect(rails.facilitator.calls.map(({ operation }) => operation)).toEqual(['verify', 'settle']);
  });

  test('makes the seller work for nothing at most once if it redirects only settlements', async () => {
    forward({ '/settle': to(302, `${rails.facilitator.url}/settle`) });
    for (const stage of ['SETTLE', 'VERIFY', 'VERIFY']) {
      const { status, text, payment, leftAtomic } = await buy();
      expect([status, JSON.parse(text).code, await leftAtomic()]).toEqual([502, 'FACILITATOR_REJECTED', 10_000n]);
      expect(payment).toMatchObject({
        status: 'FAILED',
        failureStage: stage,
        failureReason: 'facilitator_rejected',
        failureMessage: 'The facilitator redirects to another address.',
      });
    }
    expect(upstream.requests).toHaveLength(1);
  });
});

describe('when the service starts', () => {
  /** The log of a start, as soon as it has a line that matches. */
  async function startUntil(message: RegExp): Promise<Line[]> {
    const lines: Line[] = [];
    const log = pino({}, { write: (line: string) => lines.push(JSON.parse(line)) });
    const starting = await startTestApp({ env, config: { production: true }, log });
    try {
      await expect.poll(() => lines.map(({ msg }) => msg)).toContainEqual(expect.stringMatching(message));
      return lines.filter(({ msg }) => message.test(msg));
    } finally {
      await starting.stop();
    }
  }

  test('the log says where the facilitator redirects settlements to', async () => {
    forward({ '/settle': to(301, `${rails.facilitator.url}/settle?key=hidden`) });
    expect(await startUntil(/^the facilitator redirects/)).toMatchObject([
      {
        level: pino.levels.values.error,
        operation: 'settle',
        err: {
          advice: expect.stringContaining(`Set FACILITATOR_URL (or FACILITATOR_URLS) to ${rails.facilitator.url}.`),
        },
      },
    ]);
  });

  test('the log says that settlements would be rejected', async () => {
    forward({ '/settle': { statusCode: 403 } });
    expect(await startUntil(/^the facilitator rejects/)).toMatchObject([
      { level: pino.levels.values.error, operation: 'settle', statusCode: 403 },
    ]);
  });

  test('the log says where the node redirects to', async () => {
    forward({ '/rpc': to(301, `${rails.rpcUrl}/v2/HiddenKey1`) });
    const [line] = await startUntil(/^couldn't ask the node/);
    expect(line).toMatchObject({
      level: pino.levels.values.warn,
      err: { message: expect.stringContaining(rails.rpcUrl) },
    });
    expect(JSON.stringify(line)).not.toContain('HiddenKey1');
  });
});
