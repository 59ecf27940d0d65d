import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAnswerMemory } from '../../src/gateway/answer-memory.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { sign, v2Headers } from './sign.ts';
import { createShop, type Rails, startRails } from './support.ts';

const MEGABYTE = 1024 * 1024;

let rails: Rails;
let app: TestApp;
let upstream: Receiver;

beforeAll(async () => {
  rails = await startRails();
  upstream = await startReceiver(() => ({ body: Buffer.alloc(10 * MEGABYTE) }));
  app = await startTestApp({ env: rails.env });
});

afterAll(async () => {
  await app?.stop();
  await upstream?.close();
  await rails?.close();
});

test('what one request holds is missing to the others until it gives it back', () => {
  const open = createAnswerMemory(100);
  const [first, second] = [open(), open()];
  expect([first.take(60), second.take(41), second.take(40), first.take(1)]).toEqual([true, false, true, false]);
  first.release();
  first.release();
  expect([second.take(60), second.take(1)]).toEqual([true, false]);
});

test('large answers that nobody reads are bounded: further buyers are told to wait, and get theirs later', async () => {
  const shop = await createShop(app, await app.user('alice'), { '/large': { upstreamUrl: upstream.url } });
  const headers = v2Headers(await sign(await rails.wallet(10_000n)));
  expect((await (await fetch(`${shop.url}/large`, { headers })).bytes()).length).toBe(10 * MEGABYTE);

  // The same paid answer is asked for again and again, and not read.
  const unread: Response[] = [];
  while (unread.length < 60 && unread.at(-1)?.status !== 503) {
    unread.push(await fetch(`${shop.url}/large`, { headers }));
  }
  expect(unread.map(({ status }) => status)).toEqual([...Array(unread.length - 1).fill(200), 503]);
  const refused = unread.at(-1)!;
  expect(refused.headers.get('retry-after')).toBe('1');
  expect(await refused.json()).toMatchObject({ code: 'UNAVAILABLE' });
  // A new payment costs nothing when its answer cannot be held.
  const buyer = await rails.wallet(10_000n);
  const unpaid = await fetch(`${shop.url}/large`, { headers: v2Headers(await sign(buyer)) });
  expect(unpaid.status).toBe(503);
  expect(await rails.chain.balanceOf(buyer.address)).toBe(10_000n);

  await Promise.all(unread.slice(0, -1).map((answer) => answer.body!.cancel()));
  await expect
    .poll(
      async () => {
        const answer = await fetch(`${shop.url}/large`, { headers });
        await answer.body!.cancel();
        return answer.status;
      },
      { timeout: 10_000 },
    )
    .toBe(200);
});
