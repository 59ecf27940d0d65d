import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { createFacilitatorTurns, TurnMissed } from '../../../src/gateway/chain/facilitator-turns.ts';

const PATIENT = { waitMilliseconds: 60_000, isRepeated: false };

type Sent = { name: string; reply(statusCode?: number, retryAfterSeconds?: number): void };

function openTurns(maxCalls: number) {
  const sent: Sent[] = [];
  const turns = createFacilitatorTurns({ maxCalls });
  return {
    sent,
    names: () => sent.map(({ name }) => name),
    call(name: string, options = PATIENT) {
      const send = () => {
        const { promise, resolve } = Promise.withResolvers<{
          statusCode: number;
          retryAfterSeconds: number | undefined;
        }>();
        sent.push({
          name,
          reply: (statusCode = 200, retryAfterSeconds) => resolve({ statusCode, retryAfterSeconds }),
        });
        return promise;
      };
      return turns.run(name[0]!, send, options);
    },
  };
}

describe('accounts take turns', () => {
  test('and one with many waiting calls delays another by one call', async () => {
    const { call, names, sent } = openTurns(1);
    const calls = ['a1', 'a2', 'a3', 'a4', 'b1'].map((name) => call(name));
    for (let index = 0; index < calls.length; index++) {
      await setImmediate();
      sent[index]!.reply();
    }
    await Promise.all(calls);
    expect(names()).toEqual(['a1', 'a2', 'b1', 'a3', 'a4']);
  });

  test('and one whose calls are slow leaves a quarter of them to others', async () => {
    const { call, names, sent } = openTurns(8);
    const calls = ['a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'a7', 'b1', 'b2'].map((name) => call(name));
    await setImmediate();
    expect(names()).toEqual(['a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'b1', 'b2']);
    sent[0]!.reply();
    await expect.poll(() => names().at(-1)).toBe('a7');
    for (const { reply } of sent) reply();
    await Promise.all(calls);
  });
});

describe('if the facilitator responds with 429,', () => {
  test('half as many calls run at the same time, and more again once calls succeed', async () => {
    const { call, names, sent } = openTurns(4);
    const first = ['a1', 'b1', 'c1', 'd1'].map((name) => call(name));
    await setImmediate();
    for (const { reply } of sent) reply(429);
    expect((await Promise.all(first)).map(({ statusCode }) => statusCode)).toEqual([429, 429, 429, 429]);

    const next = ['a2', 'b2', 'c2', 'd2', 'e2', 'f2', 'g2'].map((name) => call(name));
    await expect.poll(names).toHaveLength(6);
    await setImmediate();
    expect(names().slice(4)).toEqual(['a2', 'b2']);
    sent[4]!.reply();
    sent[5]!.reply();
    await expect.poll(names).toHaveLength(9);
    for (let index = 6; index < 11; index++) {
      await expect.poll(names).not.toHaveLength(index);
      sent[index]!.reply();
    }
    await Promise.all(next);
  });

  test('a slow call continues without its turn, so that the next one is sent', async () => {
    const { call, names, sent } = openTurns(4);
    const rejected = call('a1');
    await setImmediate();
    sent[0]!.reply(429);
    await rejected;

    const calls = ['a2', 'a3', 'b1'].map((name) => call(name));
    await expect.poll(names).toEqual(['a1', 'a2', 'b1', 'a3']);
    for (const { reply } of sent) reply();
    await Promise.all(calls);
  });

  test('slow calls still count toward how many are running', async () => {
    const { call, names, sent } = openTurns(2);
    const slow = ['a1', 'b1'].map((name) => call(name));
    await expect(call('a2', { waitMilliseconds: 2_000, isRepeated: false })).rejects.toThrow(TurnMissed);
    expect(names()).toEqual(['a1', 'b1']);
    for (const { reply } of sent) reply();
    await Promise.all(slow);
  });

  test('a call that may be repeated gets another turn before the other calls of its account', async () => {
    const { call, names, sent } = openTurns(1);
    const repeated = call('a1', { ...PATIENT, isRepeated: true });
    const other = call('a2');
    await setImmediate();
    sent[0]!.reply(429);
    await expect.poll(names).toHaveLength(2);
    sent[1]!.reply();
    expect(await repeated).toMatchObject({ statusCode: 200 });
    await expect.poll(names).toEqual(['a1', 'a1', 'a2']);
    sent[2]!.reply();
    await other;
  });
});

test("a call whose turn doesn't come in time isn't sent", async () => {
  const { call, names, sent } = openTurns(1);
  const first = call('a1');
  await expect(call('a2', { waitMilliseconds: 1, isRepeated: false })).rejects.toThrow(TurnMissed);
  sent[0]!.reply();
  await first;
  expect(names()).toEqual(['a1']);
});
