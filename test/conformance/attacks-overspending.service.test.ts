import { afterAll, beforeAll, expect, test } from 'vitest';
import { sign, v2Headers } from '../gateway/sign.ts';
import { type AttackStage, openAttackStage } from './attack-stage.ts';

let stage: AttackStage;

beforeAll(async () => {
  stage = await openAttackStage({ endpoints: { '/orders': {} }, gatewayCount: 2 });
});
afterAll(() => stage?.close());

test.each([
  ['after all others were rejected', true],
  ['immediately', false],
])(
  'forty concurrent requests through two processes, with money for only one, cause exactly one paid upstream call if the upstream responds %s',
  async (_when, isHeld) => {
    const { rails, upstream, urls, totals } = stage;
    const { promise: othersRejected, resolve: release } = Promise.withResolvers<void>();
    upstream.requests.length = 0;
    upstream.handle(async () => {
      if (isHeld) await othersRejected;
      return { statusCode: 201, body: 'ordered' };
    });
    const before = (await totals()).settledCount;
    const buyer = await rails.wallet(10_000n);
    const signed = await Promise.all(Array.from({ length: 40 }, () => sign(buyer)));
    let rejections = 0;

    const answers = await Promise.all(
      signed.map(async (payment, index) => {
        const answer = await fetch(`${urls[index % 2]}/orders`, { headers: v2Headers(payment) });
        if (answer.status !== 201) rejections += 1;
        if (rejections === 39) release();
        return { status: answer.status, retryAfter: answer.headers.get('retry-after'), text: await answer.text() };
      }),
    );

    expect(upstream.requests).toHaveLength(1);
    expect(await rails.chain.balanceOf(buyer.address)).toBe(0n);
    expect((await totals()).settledCount).toBe(before + 1);
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    const rejected = answers.filter(({ status }) => status !== 201);
    // The facilitator may respond too late on a busy machine.
    const refusals = [
      [429, 'FUNDS_IN_USE', '1'],
      // Both cases together make more bad payments than an address is allowed in a minute.
      [429, 'RATE_LIMITED', expect.any(String)],
      [503, 'FACILITATOR_UNAVAILABLE', '5'],
    ];
    for (const { status, text, retryAfter } of rejected) {
      // Once the money is spent, the facilitator rejects the payment.
      if (status === 402) expect(isHeld).toBe(false);
      else expect(refusals).toContainEqual([status, JSON.parse(text).code, retryAfter]);
    }
  },
);
