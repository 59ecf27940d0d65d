import { type AddressInfo, createServer, type Server } from 'node:net';
import pg from 'pg';
import type { Hex } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Misbehaviour } from '../gateway/chain/facilitator-server.ts';
import { type GatewayProcess, startGatewayProcess } from '../gateway/gateway-processes.ts';
import { type Signed, sign, v2Headers } from '../gateway/sign.ts';
import { createShop, NETWORK, type Rails, startRails } from '../gateway/support.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';

/** How often the process is killed at each step. The long version is `npm run prove:gateway`. */
const KILLS = Number(process.env.PAYMENT_KILLS ?? 1);

/** More than the buffers between two sockets can hold. */
const LARGE_BYTES = 10 * 1024 * 1024;

type Attempt = {
  signed: Signed;
  buyer: PrivateKeyAccount;
  path: string;
  firstResponse: string | undefined;
  /** Whether a process that wasn't killed has streamed the response. */
  isStreamed?: boolean;
};

let rails: Rails;
let app: TestApp;
let upstream: Receiver;
let shop: Awaited<ReturnType<typeof createShop>>;
let database: pg.Client;
const attempts: Attempt[] = [];
/** How often the process was killed exactly at the intended step. */
const hits = new Map<string, number>();

beforeAll(async () => {
  rails = await startRails();
  upstream = await startReceiver(({ path }) => ({ body: `served ${path}` }));
  // This process manages the project and is never killed. It serves no paid routes itself.
  app = await startTestApp({ env: { ...rails.env, ROLES: 'api,worker' } });
  database = new pg.Client({ connectionString: app.databaseUrl });
  await database.connect();
  shop = await createShop(app, await app.user('alice'), {
    '/tasks/*': { upstreamUrl: `${upstream.url}/tasks` },
    '/deaf/*': { upstreamUrl: `http://127.0.0.1:${await listen(deaf)}/deaf` },
    '/first/*': { upstreamUrl: `${upstream.url}/first`, settlement: 'BEFORE_REQUEST' },
  });
});

afterAll(async () => {
  for (const gateway of await Promise.all(started)) await gateway.end('SIGKILL');
  await database?.end();
  await app?.stop();
  await upstream?.close();
  deaf.close();
  await rails?.close();
});

/** Accepts connections and reads nothing. */
const deaf = createServer({ pauseOnConnect: true });

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

/** The process that is running, and the next one, which starts while the first is still running. */
let started: Promise<GatewayProcess>[] = [];

async function nextGateway(): Promise<GatewayProcess> {
  const next = started[1] ?? startGatewayProcess(app, rails);
  const spare = startGatewayProcess(app, rails);
  spare.catch(() => {});
  started = [next, spare];
  return next;
}

const urlOf = (gateway: GatewayProcess, path: string) => `${gateway.url}/gateway/${shop.projectId}${path}`;
const callsOf = (path: string) => upstream.requests.filter((request) => request.path === path).length;
/** Payments that are settled first buy a second call if the first one fails. */
const isFirst = (path: string) => path.startsWith('/first/');
const maxCallsOf = (path: string) => (isFirst(path) ? 2 : 1);

async function statusOf(nonce: Hex): Promise<string | undefined> {
  const { rows } = await database.query('SELECT status FROM "Payment" WHERE nonce = $1', [nonce.toLowerCase()]);
  return rows.at(-1)?.status;
}

/** Expects the last attempt's payment to have the step's status, and counts the kill. */
async function expectLeft(name: string, expected: string): Promise<void> {
  expect(await statusOf(attempts.at(-1)!.signed.authorization.nonce)).toBe(expected);
  hits.set(name, (hits.get(name) ?? 0) + 1);
}

/** Sends one payment and kills the process at `moment`. */
async function killAt(name: string, moment: (attempt: Attempt) => Promise<unknown>): Promise<void> {
  const gateway = await nextGateway();
  const buyer = await rails.wallet(10_000n);
  const signed = await sign(buyer);
  const folder = name === 'deaf' ? 'deaf' : name.startsWith('first ') ? 'first' : 'tasks';
  const path = `/${folder}/${name.replaceAll(' ', '-')}/${attempts.length}`;
  const attempt: Attempt = { signed, buyer, path, firstResponse: undefined };
  attempts.push(attempt);
  const { promise: killed, resolve: letRead } = Promise.withResolvers<void>();
  const asked = fetch(urlOf(gateway, path), { headers: v2Headers(signed) }).then(async (answer) => {
    // Nothing has been read yet, so what doesn't fit into the socket buffers is still in the process.
    await killed;
    if (answer.status === 200) attempt.firstResponse = await answer.text();
  });
  asked.catch(() => {});
  await moment(attempt);
  await gateway.end('SIGKILL');
  letRead();
  await asked.catch(() => {});
}

/** Injects a fault for the last attempt's payment only. Payments that another process is recovering aren't affected. */
function misbehaveForLast(operation: 'verify' | 'settle', how: Misbehaviour): void {
  rails.facilitator.misbehave(operation, async (response, real, request) => {
    const { payload } = request.paymentPayload as { payload: Signed };
    const isLast = payload.authorization.nonce === attempts.at(-1)!.signed.authorization.nonce;
    if (isLast) return how(response, real, request);
    response.end(JSON.stringify(await real()));
  });
}

const repeat = async (run: () => Promise<void>) => {
  for (let time = 0; time < KILLS; time++) await run();
};

describe('the gateway is killed', () => {
  test('while a payment is being verified', () =>
    repeat(async () => {
      const { promise: reached, resolve } = Promise.withResolvers<void>();
      misbehaveForLast('verify', () => resolve());
      await killAt('verify', () => reached);
      rails.facilitator.misbehave('verify', undefined);
      await expectLeft('verify', 'CLAIMED');
    }));

  test('after verification, before the upstream has read anything', () =>
    repeat(async () => {
      const { promise: reached, resolve } = Promise.withResolvers<void>();
      deaf.once('connection', () => resolve());
      await killAt('deaf', () => reached);
      await expectLeft('deaf', 'VERIFIED');
      expect(callsOf(attempts.at(-1)!.path)).toBe(0);
    }));

  test('while the upstream is working', () =>
    repeat(async () => {
      const { promise: reached, resolve } = Promise.withResolvers<void>();
      upstream.handle(() => {
        resolve();
        return undefined;
      });
      await killAt('upstream', () => reached);
      upstream.handle(({ path }) => ({ body: `served ${path}` }));
      await expectLeft('upstream', 'VERIFIED');
      expect(callsOf(attempts.at(-1)!.path)).toBe(1);
    }));

  test('after the response is stored, before the settlement is sent', () =>
    repeat(async () => {
      let down: Promise<void> | undefined;
      upstream.handle(({ path }) => {
        if (path === attempts.at(-1)!.path) down = rails.facilitator.goDown();
        return { body: `served ${path}` };
      });
      try {
        await killAt('served', ({ signed }) =>
          expect.poll(() => statusOf(signed.authorization.nonce), { interval: 5 }).toBe('SETTLING'),
        );
        await expectLeft('served', 'SETTLING');
      } finally {
        await down;
        await rails.facilitator.comeUp();
        upstream.handle(({ path }) => ({ body: `served ${path}` }));
      }
    }));

  test('after the settlement is sent, before it has happened', () =>
    repeat(async () => {
      const { promise: reached, resolve } = Promise.withResolvers<void>();
      misbehaveForLast('settle', () => resolve());
      await killAt('unsettled', () => reached);
      rails.facilitator.misbehave('settle', undefined);
      await expectLeft('unsettled', 'SETTLING');
    }));

  test('after the settlement has happened, before the gateway learns of it', () =>
    repeat(async () => {
      const { promise: reached, resolve } = Promise.withResolvers<void>();
      misbehaveForLast('settle', async (_response, real) => {
        await real();
        resolve();
      });
      await killAt('settled', () => reached);
      rails.facilitator.misbehave('settle', undefined);
      await expectLeft('settled', 'SETTLING');
    }));

  test('right after the facilitator has responded', () =>
    repeat(async () => {
      const { promise: reached, resolve } = Promise.withResolvers<void>();
      misbehaveForLast('settle', async (response, real) => {
        response.end(JSON.stringify(await real()));
        resolve();
      });
      await killAt('told', () => reached);
      rails.facilitator.misbehave('settle', undefined);
    }));

  test('after the payment is recorded as settled, before the buyer has the whole response', () =>
    repeat(async () => {
      upstream.handle(({ path }) => ({ body: `served ${path}`.padEnd(LARGE_BYTES) }));
      await killAt('booked', ({ signed }) =>
        expect.poll(() => statusOf(signed.authorization.nonce), { interval: 5 }).toBe('SETTLED'),
      );
      upstream.handle(({ path }) => ({ body: `served ${path}` }));
      await expectLeft('booked', 'SETTLED');
      expect(attempts.at(-1)!.firstResponse).toBeUndefined();
    }));

  test('at any moment', () =>
    repeat(async () => {
      for (const name of ['anywhere', 'first anywhere']) {
        for (let time = 0; time < 2; time++) {
          const milliseconds = Math.random() * 120;
          await killAt(name, () => new Promise((resolve) => setTimeout(resolve, milliseconds)));
        }
      }
    }));
});

describe('with settlement before the request, the gateway is killed', () => {
  test('after the settlement is sent, before it has happened', () =>
    repeat(async () => {
      const { promise: reached, resolve } = Promise.withResolvers<void>();
      misbehaveForLast('settle', () => resolve());
      await killAt('first unsettled', () => reached);
      rails.facilitator.misbehave('settle', undefined);
      await expectLeft('first unsettled', 'SETTLING');
      expect(callsOf(attempts.at(-1)!.path)).toBe(0);
    }));

  test('after the settlement has happened, before the gateway learns of it', () =>
    repeat(async () => {
      const { promise: reached, resolve } = Promise.withResolvers<void>();
      misbehaveForLast('settle', async (_response, real) => {
        await real();
        resolve();
      });
      await killAt('first settled', () => reached);
      rails.facilitator.misbehave('settle', undefined);
      await expectLeft('first settled', 'SETTLING');
      expect(callsOf(attempts.at(-1)!.path)).toBe(0);
    }));

  test.each(['calling', 'streaming'])('while the upstream is %s', (step) =>
    repeat(async () => {
      const { promise: reached, resolve } = Promise.withResolvers<void>();
      upstream.handle((_request, response) => {
        if (step === 'streaming') response.writeHead(200).write('partly served', () => resolve());
        else resolve();
        return undefined;
      });
      await killAt(`first ${step}`, () => reached);
      upstream.handle(({ path }) => ({ body: `served ${path}` }));
      await expectLeft(`first ${step}`, 'SETTLED');
      expect(attempts.at(-1)!.firstResponse).toBeUndefined();
    }),
  );

  test('after the buyer has read a part of a large response', () =>
    repeat(async () => {
      upstream.handle(({ path }) => ({ body: `served ${path}`.padEnd(LARGE_BYTES) }));
      await killAt('first large', ({ path }) => expect.poll(() => callsOf(path), { interval: 5 }).toBe(1));
      upstream.handle(({ path }) => ({ body: `served ${path}` }));
      await expectLeft('first large', 'SETTLED');
      expect(attempts.at(-1)!.firstResponse).toBeUndefined();
    }));
});

test('the gateway was killed at every step as often as planned', () => {
  const firstSteps = ['unsettled', 'settled', 'calling', 'streaming', 'large'].map((step) => `first ${step}`);
  const steps = ['verify', 'deaf', 'upstream', 'served', 'unsettled', 'settled', 'booked', ...firstSteps];
  expect(Object.fromEntries(hits)).toEqual(Object.fromEntries(steps.map((step) => [step, KILLS])));
});

test('after all kills, nothing was settled twice or served without payment, and every payment is resolved', async () => {
  const gateway = await nextGateway();
  // Half of the buyers retry immediately, and the other half after all kills.
  const eager = attempts.filter((_attempt, index) => index % 2 === 0);
  for (const attempt of eager) {
    const answer = await fetch(urlOf(gateway, attempt.path), { headers: v2Headers(attempt.signed) });
    await answer.text();
    attempt.isStreamed = answer.status === 200 && isFirst(attempt.path);
  }
  // Settlements that were sent but haven't happened stay open until the authorization expires.
  await expect
    .poll(
      async () => {
        const { rows } = await database.query(
          `SELECT count(*)::int AS count FROM "Payment" WHERE status IN ('CLAIMED', 'VERIFIED', 'SERVED', 'SETTLING')`,
        );
        return rows[0].count;
      },
      { interval: 500 },
    )
    .toBe(0);
  const settledOnChain = await transfersByNonce();

  for (const { signed, path, buyer, firstResponse } of attempts) {
    const nonce = signed.authorization.nonce.toLowerCase() as Hex;
    const transfers = settledOnChain.get(nonce) ?? 0;
    expect(transfers, path).toBeLessThanOrEqual(1);
    expect(callsOf(path), path).toBeLessThanOrEqual(maxCallsOf(path));
    if (firstResponse !== undefined) expect(transfers, path).toBe(1);
    // The work was done, so another process sends the settlement.
    if (path.includes('/served/')) expect(transfers, path).toBe(1);
    expect(await rails.chain.balanceOf(buyer.address), path).toBe(transfers === 1 ? 0n : 10_000n);
  }

  for (const { signed, path, buyer, firstResponse, isStreamed } of attempts) {
    const { status, text } = await repeatUntilResolved(urlOf(gateway, path), signed);
    const hasPaid = (await rails.chain.balanceOf(buyer.address)) === 0n;
    // Buyers who paid get their response, and nobody else does. A streamed response is sent once, or twice if the
    // process was killed before it could record the first time.
    if (isStreamed) expect([path, status, hasPaid]).toEqual([path, 410, true]);
    else if (isFirst(path) && firstResponse !== undefined) expect([200, 410]).toContain(status);
    else expect([path, status, text.startsWith('served')]).toEqual([path, hasPaid ? 200 : 402, hasPaid]);
    expect(callsOf(path), path).toBeLessThanOrEqual(maxCallsOf(path));
  }

  await rails.chain.client.increaseTime({ seconds: 900 });
  await rails.chain.client.mine({ blocks: 1 });
  const open = `SELECT id FROM "Payment" WHERE status NOT IN ('SETTLED', 'FAILED')`;
  await expect.poll(async () => (await database.query(open)).rows, { interval: 500 }).toEqual([]);

  const finally_ = await transfersByNonce();
  const { rows } = await database.query('SELECT nonce, status FROM "Payment"');
  for (const { signed } of attempts) {
    const nonce = signed.authorization.nonce.toLowerCase() as Hex;
    const isSettled = rows.some((row) => row.nonce === nonce && row.status === 'SETTLED');
    expect(isSettled).toBe((finally_.get(nonce) ?? 0) === 1);
  }
  await gateway.end('SIGTERM');
});

/**
 * Retries a request while the outcome is unknown or a killed process's lease hasn't expired, and returns the final
 * response.
 */
async function repeatUntilResolved(url: string, signed: Signed): Promise<{ status: number; text: string }> {
  let last = { status: 0, text: '' };
  const repeat = async () => {
    const answer = await fetch(url, { headers: v2Headers(signed) });
    last = { status: answer.status, text: await answer.text() };
    return last.status;
  };
  await expect.poll(async () => [409, 503].includes(await repeat()), { interval: 500 }).toBe(false);
  return last;
}

/** How often each authorization was used, according to the token's events. */
async function transfersByNonce(): Promise<Map<Hex, number>> {
  const events = await rails.chain.client.getLogs({
    address: NETWORK.asset.address,
    event: {
      type: 'event',
      name: 'AuthorizationUsed',
      inputs: [
        { name: 'authorizer', type: 'address', indexed: true },
        { name: 'nonce', type: 'bytes32', indexed: true },
      ],
    },
    fromBlock: 0n,
  });
  const counts = new Map<Hex, number>();
  for (const { args } of events) counts.set(args.nonce!, (counts.get(args.nonce!) ?? 0) + 1);
  return counts;
}
