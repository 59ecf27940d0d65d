/**
 * Keeps as many megabytes alive as a busy worker, replaces them over time, and prints the largest heap size.
 * Arguments: whether the heap should grow slowly (`true`), and the megabytes.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { growHeapSlowly } from '../src/heap-growth.ts';

const [slowly, megabytes] = process.argv.slice(2);
if (slowly === 'true') growHeapSlowly('');

/** Creates about 10 KB in small objects, like those of a delivery. */
const makeItem = (round: number) => Array.from({ length: 100 }, (_, index) => ({ text: `${round}.${index}`, index }));
const alive = Array.from({ length: Number(megabytes) * 100 }, (_, index) => makeItem(index));
let largestHeapMegabytes = 0;
for (let round = 0; round < alive.length + 60_000; round++) {
  alive[round % alive.length] = makeItem(round);
  if (round % 500 !== 0) continue;
  await turn();
  largestHeapMegabytes = Math.max(largestHeapMegabytes, process.memoryUsage().heapTotal / 2 ** 20);
}
console.log(JSON.stringify({ largestHeapMegabytes }));
