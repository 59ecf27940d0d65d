import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createResponseMemory, type ResponseMemoryBounds } from '../../../src/gateway/payment/response-memory.ts';
import { STREAM_BYTES } from '../../../src/gateway/payment/stream-paid.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { sign, v2Headers } from '../sign.ts';
import { createShop, type Rails, readSlowly, startRails } from '../support.ts';

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
  // Its tests may retry a payment as often as they need to.
  let minutes = 0;
  const rateLimitNow = () => 60_000 * minutes++;
  impatient = await startTestApp({ env, databaseUrl, dataDir, responsePacing, rateLimitNow });
});

afterAll(async () => {
  await impatient?.stop();
  await patient?.stop();
  await upstream?.close();
  await rails?.close();
});

const bounds = { maxBytes: 100, maxAddressBytes: 100, maxPaymentBytes: 100 };

/** Opens a memory. `firm` and `droppable` open a response for a buyer's address and a seller's account. */
function openMemory(changes: Partial<ResponseMemoryBounds> = {}) {
  const open = createResponseMemory({ ...bounds, ...changes });
  const dropped: string[] = [];
  return {
    dropped,
    /** A response that can't be dropped. */
    firm: open,
    /** A response that can be dropped. */
    droppable(address: string, account: string, name = `${address} ${account}`) {
      const response = open(address, account);
      response.mayDrop(() => dropped.push(name));
      return response;
    },
  };
}

test('memory that one request uses is unavailable to others until it is released', () => {
  const { droppable } = openMemory();
  const [first, second] = [droppable('192.0.2.1', 'a'), droppable('192.0.2.1', 'a')];
  expect([first.take(60), second.take(41), second.take(40), first.take(1)]).toEqual([true, false, true, false]);
  first.release();
  first.release();
  expect([second.take(60), second.take(1)]).toEqual([true, false]);
});

test('one client address and the retries of one payment each get only part of the response memory', () => {
  const { firm } = openMemory({ maxBytes: 1000, maxAddressBytes: 40, maxPaymentBytes: 20 });
  const ours = firm('2001:db8::1', 'a');
  const neighbor = firm('2001:db8::ffff', 'b');
  const stranger = firm('2001:db8:0:1::1', 'b');
  expect([ours.take(40), neighbor.take(1), stranger.take(20)]).toEqual([true, false, true]);
  expect([neighbor.isOverShare, stranger.isOverShare]).toEqual([true, false]);
  ours.release();
  const repeats = ['192.0.2.1', '192.0.2.2', '192.0.2.3'].map((address) => firm(address, 'a').take(10, 'pay_1'));
  expect([...repeats, firm('192.0.2.1', 'a').take(10, 'pay_2')]).toEqual([true, true, false, true]);
});

test('if the memory is full, the address that uses the most loses a response that can be dropped, but only to one that uses less', () => {
  const { dropped, firm, droppable } = openMemory();
  firm('192.0.2.1', 'a').take(20);
  droppable('192.0.2.1', 'a', 'the first').take(20);
  droppable('192.0.2.2', 'a', 'the second').take(30);
  droppable('192.0.2.3', 'a', 'the third').take(30);
  const fourth = droppable('192.0.2.4', 'a', 'the fourth');
  expect([fourth.take(20), dropped]).toEqual([true, ['the first']]);
  const third = droppable('192.0.2.3', 'a');
  expect([third.take(10), third.isOverShare, dropped]).toEqual([false, false, ['the first']]);
  expect([droppable('192.0.2.5', 'a').take(5), dropped]).toEqual([true, ['the first', 'the second']]);
});

test('an account loses responses to one that uses less memory, no matter how many addresses its responses go to', () => {
  const { dropped, droppable } = openMemory();
  for (let index = 0; index < 100; index++) droppable(`198.51.100.${index}`, 'greedy').take(1);
  expect([droppable('192.0.2.1', 'modest').take(30), dropped.length]).toEqual([true, 30]);
  expect(droppable('198.51.100.200', 'greedy').take(1)).toBe(false);
  expect(dropped).not.toContain('192.0.2.1 modest');
});

test('an address loses responses to one that uses less memory, no matter how many accounts its responses come from', () => {
  const { dropped, droppable } = openMemory();
  for (let index = 0; index < 100; index++) droppable('198.51.100.1', `account ${index}`).take(1);
  expect([droppable('192.0.2.1', 'modest').take(30), dropped.length]).toEqual([true, 30]);
  expect(droppable('198.51.100.1', 'account 200').take(1)).toBe(false);
});

test('complete responses that buyers read slowly are dropped first, no matter how many addresses and accounts they go to', () => {
  let now = 0;
  const open = createResponseMemory(bounds, () => now);
  const dropped: string[] = [];
  const responses = Array.from({ length: 60 }, (_, index) => {
    const slow = open(`198.51.100.${index}`, `account ${index}`);
    expect(slow.take(1)).toBe(true);
    slow.waitForBuyer(() => dropped.push('slow'));
    return slow;
  });
  const busy = Array.from({ length: 40 }, (_, index) => {
    const call = open(`192.0.2.${index}`, 'busy');
    call.mayDrop(() => dropped.push('busy'));
    return call;
  });
  for (const call of busy) expect(call.take(1)).toBe(true);
  now = 10_001;
  expect([busy[0]!.take(20), dropped]).toEqual([true, Array(20).fill('slow')]);
  for (const response of responses) response.release();
  expect(busy[0]!.take(40)).toBe(true);
});

test('buyers from a seller who uses a lot of memory get room from other buyers of the same seller', () => {
  const { dropped, droppable } = openMemory();
  droppable('198.51.100.1', 'popular').take(60);
  droppable('192.0.2.1', 'popular').take(40);
  expect([droppable('192.0.2.2', 'popular').take(10), dropped]).toEqual([true, ['198.51.100.1 popular']]);
});

test("a seller cannot keep a buyer from buying elsewhere by using up the memory of the buyer's address", () => {
  const { droppable, dropped } = openMemory({ maxBytes: 1000, maxAddressBytes: 40 });
  const [first, second] = [1, 2].map((count) => droppable('192.0.2.1', 'a', `a${count}`));
  expect([first!.take(20), second!.take(20)]).toEqual([true, true]);
  const more = droppable('192.0.2.1', 'a', 'a3');
  expect([more.hasAddressCapacity(10), more.take(10), more.isOverShare]).toEqual([false, false, true]);
  const elsewhere = droppable('192.0.2.1', 'b');
  expect([elsewhere.hasAddressCapacity(10), elsewhere.take(10), elsewhere.isOverShare]).toEqual([true, true, false]);
  expect([dropped, first!.isOverShare, first!.take(1), second!.isOverShare]).toEqual([['a1'], true, false, false]);
});

test('500 streams of one seller fit side by side, even if one address reads them all', () => {
  const open = createResponseMemory();
  const takes = Array.from({ length: 500 }, () => open('192.0.2.1', 'seller').take(STREAM_BYTES));
  expect(takes).toEqual(Array(500).fill(true));
});

test('ten accounts and addresses that work together leave room for one that uses little memory', () => {
  const { dropped, firm, droppable } = openMemory({ maxBytes: 1000, maxAddressBytes: 1000 });
  const streamed: number[] = [];
  for (let index = 0; index < 10; index++) {
    const stream = firm(`198.51.100.${index}`, `greedy ${index}`);
    let bytes = 0;
    while (stream.take(1)) bytes += 1;
    streamed.push(bytes);
    const call = droppable(`198.51.100.${index}`, `greedy ${index}`, 'greedy');
    while (call.take(1));
  }
  expect(streamed.slice(0, 3)).toEqual([250, 166, 111]);
  expect([firm('192.0.2.1', 'modest').take(2), droppable('192.0.2.2', 'modest').take(20)]).toEqual([true, true]);
  expect(new Set(dropped)).toEqual(new Set(['greedy']));
});

test('a response is not dropped while its buyer is being charged', () => {
  const { dropped, droppable } = openMemory();
  const first = droppable('192.0.2.1', 'a', 'the first');
  expect([first.take(60), first.keep()]).toEqual([true, true]);
  const second = droppable('192.0.2.2', 'b', 'the second');
  expect([second.take(40), droppable('192.0.2.3', 'c').take(20), dropped]).toEqual([true, true, ['the second']]);
  expect([second.keep(), second.take(1)]).toEqual([false, false]);
  expect(droppable('192.0.2.4', 'd').take(30)).toBe(false);
  first.mayDrop(() => dropped.push('the first, later'));
  expect([droppable('192.0.2.4', 'd').take(30), dropped]).toEqual([true, ['the second', 'the first, later']]);
});

/** A paid route that returns 10 MB, in both services. */
async function largeRoute(): Promise<{ ofPatient: string; ofImpatient: string }> {
  const shop = await createShop(patient, await patient.user('alice'), { '/large': { upstreamUrl: upstream.url } });
  const path = `${new URL(shop.url).pathname}/large`;
  return { ofPatient: patient.url + path, ofImpatient: impatient.url + path };
}

// The kernel's buffers grow while a connection is read quickly, and can then take a whole response that nobody reads. So
// requests whose responses aren't read need connections of their own.
const readAll = async (url: string, headers: Record<string, string>) =>
  (await (await fetch(url, { headers: { ...headers, connection: 'close' } })).bytes()).length;

/** A payment whose response has been read once. */
async function paidOnce(url: string): Promise<Record<string, string>> {
  const headers = v2Headers(await sign(await rails.wallet(10_000n)));
  expect(await readAll(url, headers)).toBe(10 * MEGABYTE);
  return headers;
}

/** Retries a paid request without reading the responses until one is rejected. */
async function askUnread(url: string, headers: Record<string, string>): Promise<Response[]> {
  const answers: Response[] = [];
  while (answers.length < 30 && answers.at(-1)?.status !== 503) answers.push(await fetch(url, { headers }));
  return answers;
}

test("unread responses are limited per payment and per address, and rejected buyers get theirs later or aren't charged", async () => {
  const { ofPatient: url } = await largeRoute();
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
  await expect.poll(() => readAll(url, payments[0]!)).toBe(10 * MEGABYTE);
});

test("a buyer who doesn't read is cut off, and can retry the request", async () => {
  const { ofPatient, ofImpatient } = await largeRoute();
  const headers = await paidOnce(ofPatient);
  const unread = await fetch(ofImpatient, { headers });
  expect(unread.status).toBe(200);
  const refusedWhileBuffered = await askUnread(ofImpatient, headers);
  // As many as one payment may have unread. The test reads and closes nothing else, so there is memory for all of them
  // only when the gateway has closed the connections.
  const openThree = async () => {
    const answers = await Promise.all([1, 2, 3].map(() => fetch(ofImpatient, { headers })));
    await Promise.all(answers.map(({ body }) => body!.cancel()));
    return answers.map(({ status }) => status);
  };
  await expect.poll(openThree).toEqual([200, 200, 200]);
  await expect(unread.bytes()).rejects.toThrow();
  await Promise.allSettled(refusedWhileBuffered.map((answer) => answer.body?.cancel()));
  expect(await readAll(ofPatient, headers)).toBe(10 * MEGABYTE);
});

test('a buyer who reads too slowly is cut off', async () => {
  const { ofPatient, ofImpatient } = await largeRoute();
  const headers = await paidOnce(ofPatient);
  const { body } = await fetch(ofImpatient, { headers });
  await expect(readSlowly(body!)).rejects.toThrow();
  expect(await readAll(ofPatient, headers)).toBe(10 * MEGABYTE);
});
