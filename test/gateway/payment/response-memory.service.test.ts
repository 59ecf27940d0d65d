import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createResponseMemory } from '../../../src/gateway/payment/response-memory.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { sign, v2Headers } from '../sign.ts';
import { createShop, type Rails, startRails } from '../support.ts';

const MEGABYTE = 1024 * 1024;

// Each test transfers many megabytes.
vi.setConfig({ testTimeout: 90_000 });

let rails: Rails;
/** `patient` waits for slow buyers, and `impatient` doesn't. */
let patient: TestApp;
let impatient: TestApp;
let upstream: Receiver;

beforeAll(async () => {
  rails = await startRails();
  upstream = await startReceiver(() => ({ body: Buffer.alloc(10 * MEGABYTE) }));
  const { env } = rails;
  patient = await startTestApp({ env, responsePacing: { idleMilliseconds: 600_000, minBytesPerSecond: MEGABYTE } });
  const { databaseUrl, dataDir } = patient;
  const responsePacing = { idleMilliseconds: 1_500, minBytesPerSecond: 4 * MEGABYTE };
  impatient = await startTestApp({ env, databaseUrl, dataDir, responsePacing });
});

afterAll(async () => {
  await impatient?.stop();
  await patient?.stop();
  await upstream?.close();
  await rails?.close();
});

const bounds = { maxBytes: 100, maxAddressBytes: 100, maxPaymentBytes: 100 };

test('memory that one request holds is unavailable to others until it is released', () => {
  const open = createResponseMemory(bounds);
  const [first, second] = [open('192.0.2.1'), open('192.0.2.2')];
  expect([first.take(60), second.take(41), second.take(40), first.take(1)]).toEqual([true, false, true, false]);
  first.release();
  first.release();
  expect([second.take(60), second.take(1)]).toEqual([true, false]);
});

test('one client address and the retries of one payment each get only part of the response memory', () => {
  const open = createResponseMemory({ ...bounds, maxAddressBytes: 50, maxPaymentBytes: 20 });
  const ours = open('2001:db8::1');
  expect([ours.take(50), open('2001:db8::ffff').take(1), open('2001:db8:0:1::1').take(30)]).toEqual([
    true,
    false,
    true,
  ]);
  ours.release();
  const repeats = ['192.0.2.1', '192.0.2.2', '192.0.2.3'].map((address) => open(address).take(10, 'pay_1'));
  expect([...repeats, open('192.0.2.1').take(10, 'pay_2')]).toEqual([true, true, false, true]);
});

/** A paid route of `app` that returns 10 MB. */
async function largeRoute(app: TestApp): Promise<string> {
  const shop = await createShop(app, await app.user('alice'), { '/large': { upstreamUrl: upstream.url } });
  return `${shop.url}/large`;
}

/** A payment whose response has been read once. */
async function paidOnce(url: string): Promise<Record<string, string>> {
  const headers = v2Headers(await sign(await rails.wallet(10_000n)));
  expect((await (await fetch(url, { headers })).bytes()).length).toBe(10 * MEGABYTE);
  return headers;
}

/** Retries a paid request without reading the responses until one is rejected. */
async function askUnread(url: string, headers: Record<string, string>): Promise<Response[]> {
  const answers: Response[] = [];
  while (answers.length < 30 && answers.at(-1)?.status !== 503) answers.push(await fetch(url, { headers }));
  return answers;
}

test("unread responses are limited per payment and per address, and rejected buyers get theirs later or aren't charged", async () => {
  const url = await largeRoute(patient);
  const payments = [await paidOnce(url), await paidOnce(url)];
  const unread: Response[] = [];
  for (const headers of payments) {
    const answers = await askUnread(url, headers);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 503]);
    expect(answers[3]!.headers.get('retry-after')).toBe('1');
    expect(await answers[3]!.json()).toMatchObject({ code: 'UNAVAILABLE' });
    unread.push(...answers.slice(0, 3));
  }
  const buyer = await rails.wallet(10_000n);
  const unpaid = await fetch(url, { headers: v2Headers(await sign(buyer)) });
  expect(unpaid.status).toBe(503);
  expect(await rails.chain.balanceOf(buyer.address)).toBe(10_000n);

  await Promise.all(unread.map((answer) => answer.body!.cancel()));
  const later = async () => {
    const answer = await fetch(url, { headers: payments[0]! });
    return (await answer.bytes()).length;
  };
  await expect.poll(later).toBe(10 * MEGABYTE);
});

test("a buyer who doesn't read is cut off, and can retry the request", async () => {
  const url = await largeRoute(impatient);
  const headers = await paidOnce(url);
  const unread = await fetch(url, { headers });
  expect(unread.status).toBe(200);
  const refusedWhileHeld = await askUnread(url, headers);
  // Nobody reads or closes anything, so the memory comes from connections that the gateway closed.
  await expect
    .poll(async () => (await fetch(url, { headers })).bytes().then(({ length }) => length))
    .toBe(10 * MEGABYTE);
  await expect(unread.bytes()).rejects.toThrow();
  await Promise.allSettled(refusedWhileHeld.map((answer) => answer.body?.cancel()));
});

test('a buyer who reads too slowly is cut off', async () => {
  const url = await largeRoute(impatient);
  const headers = await paidOnce(url);
  const { body } = await fetch(url, { headers });
  const reader = body!.getReader();
  const trickle = async () => {
    const startedAt = performance.now();
    for (;;) {
      if ((await reader.read()).done) return;
      // The buyer is never idle, but slower than allowed. The gateway's timers, in this process, fire during the pause.
      if (performance.now() - startedAt < 6_000) await new Promise((resolve) => setTimeout(resolve, 250));
    }
  };
  await expect(trickle()).rejects.toThrow();
  expect((await (await fetch(url, { headers })).bytes()).length).toBe(10 * MEGABYTE);
});
