import { join } from 'node:path';
import { expect, test } from 'vitest';
import { growHeapSlowly } from '../src/heap-growth.ts';
import { startNode } from './support/node-process.ts';

async function largestHeapMegabytes(options: { slowly: boolean; aliveMegabytes: number }): Promise<number> {
  const { slowly, aliveMegabytes } = options;
  const args = [String(slowly), String(aliveMegabytes)];
  const node = startNode(join(import.meta.dirname, 'heap-growth-process.ts'), args);
  const { largestHeapMegabytes } = await node.nextMessage<{ largestHeapMegabytes: number }>();
  expect(await node.ended()).toBe(0);
  return largestHeapMegabytes;
}

test('a slowly growing heap stays well below V8’s default heap for the same work', async () => {
  const usual = await largestHeapMegabytes({ slowly: false, aliveMegabytes: 60 });
  expect(await largestHeapMegabytes({ slowly: true, aliveMegabytes: 60 })).toBeLessThan(usual * 0.7);
});

test('a slowly growing heap has no limit of its own', async () => {
  expect(await largestHeapMegabytes({ slowly: true, aliveMegabytes: 250 })).toBeGreaterThan(250);
});

test.each([
  '--max-old-space-size=512',
  '--max_old_space_size=512',
  '--enable-source-maps --max-semi-space-size=32',
  '--max-heap-size=300',
  '--heap-growing-percent=80',
])('NODE_OPTIONS with %s turn slow heap growth off', (nodeOptions) => {
  expect(growHeapSlowly(nodeOptions)).toBe(false);
});
