import { expect, test } from 'vitest';
import { type DueResult, FROM_THE_BEGINNING } from '../../../src/delivery/queue/claim.ts';
import { createLowWaterMark } from '../../../src/delivery/queue/low-water-mark.ts';

const NOW = 1_000_000;
const LIMITS = [10, 10];

/** A mark, and where its claims started. Each claim finds `lowestDue` and takes `milliseconds`. */
function start(milliseconds = 1) {
  let time = 10_000;
  const mark = createLowWaterMark(() => time);
  const starts: (readonly number[])[] = [];
  return {
    mark,
    starts,
    wait: (duration: number) => {
      time += duration;
    },
    claim(lowestDue: (number | null)[], options: { isHinted?: boolean; mayMove?: boolean; limits?: number[] } = {}) {
      const run = async (marks: readonly number[]) => {
        starts.push(marks);
        time += milliseconds;
        const deliveries = lowestDue.some((lowest) => lowest !== null) ? [{}] : [];
        return { deliveries, lowestDue, leftOut: [], databaseMilliseconds: NOW } as unknown as DueResult;
      };
      return mark.claim(run, { isHinted: false, mayMove: true, limits: LIMITS, ...options });
    },
  };
}

test("the first claim starts at the beginning; later claims start at each retry class's earliest due time or half a second ago, whichever is earlier", async () => {
  const { claim, starts } = start();
  await claim([900_000, null]);
  await claim([NOW - 10, NOW - 10]);
  await claim([null, null]);
  expect(starts).toEqual([FROM_THE_BEGINNING, [900_000, NOW - 500], [NOW - 500, NOW - 500]]);
});

test('a claim starts at the beginning every two seconds, or less often if that takes a long time', async () => {
  const fast = start();
  await fast.claim([null, null]);
  for (const pause of [1_000, 1_000, 1_000]) {
    fast.wait(pause);
    await fast.claim([null, null]);
  }
  expect(fast.starts.map((marks) => marks === FROM_THE_BEGINNING)).toEqual([true, false, true, false]);

  const slow = start(100);
  await slow.claim([null, null]);
  slow.wait(4_800);
  await slow.claim([null, null]);
  slow.wait(200);
  await slow.claim([null, null]);
  expect(slow.starts.map((marks) => marks === FROM_THE_BEGINNING)).toEqual([true, false, true]);
});

test('if a claim after a hint finds nothing, it is repeated from the beginning, but not every time', async () => {
  const { claim, starts, wait } = start(10);
  await claim([null, null]);
  wait(150);
  await claim([null, null], { isHinted: true });
  await claim([null, null], { isHinted: true });
  wait(150);
  await claim([900_000, null], { isHinted: true });
  const fromBeginning = starts.map((marks) => marks === FROM_THE_BEGINNING);
  expect(fromBeginning).toEqual([true, false, true, false, false]);
});

test('the mark does not pass deliveries that are not parked yet, and does not move in a retry class without claims', async () => {
  const { claim, mark } = start();
  await claim([900_000, 900_000]);
  await claim([null, null], { mayMove: false });
  await claim([null, null], { limits: [10, 0] });
  expect(mark.start()).toEqual([900_000, 900_000]);
  await claim([null, null]);
  expect(mark.start()).toEqual([NOW - 500, 900_000]);
});

test('the mark moves back to a delivery that was committed late', async () => {
  const { claim, mark, wait } = start();
  await claim([null, null]);
  wait(3_000);
  await claim([800_000, null]);
  await claim([null, null]);
  expect(mark.start()).toEqual([800_000, NOW - 500]);
});

test('parking starts where the last claim started, or at its mark if it looked only at recent deliveries', async () => {
  const { claim, mark, wait } = start();
  await claim([900_000, 900_000]);
  expect(mark.start()).toBe(FROM_THE_BEGINNING);
  await claim([NOW, NOW]);
  expect(mark.start()).toEqual([900_000, 900_000]);
  await claim([null, null], { mayMove: false });
  expect(mark.start()).toEqual([NOW - 500, NOW - 500]);
  wait(2_500);
  await claim([null, null], { mayMove: false });
  expect(mark.start()).toBe(FROM_THE_BEGINNING);
});

test('while deliveries in the way are being parked, claims look only at what is new since a second before the last', async () => {
  const { claim, starts, wait } = start(0);
  await claim([900_000, 900_000]);
  wait(1_900);
  await claim([null, null], { mayMove: false });
  await claim([null, null]);
  expect(starts.slice(1)).toEqual([
    [NOW - 1_000, NOW - 1_000],
    [900_000, 900_000],
  ]);
});
