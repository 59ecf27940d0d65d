/**
 * Compares ways to keep the heap of a worker small by their peak resident memory and CPU time for the same work.
 * Usage: node bench/heap/main.ts [rounds]. The variants take turns, each in its own process.
 */
import { execFile } from 'node:child_process';
import { createHmac, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { setFlagsFromString } from 'node:v8';

type Variant = { name: string; nodeFlags?: string[]; setAtStart?: string[] };
type Load = { name: string; jobs: number; delayMilliseconds: number };
type Result = { maxRssMegabytes: number; cpuSeconds: number };

const VARIANTS: readonly Variant[] = [
  { name: 'V8 defaults' },
  {
    name: 'set once at start',
    setAtStart: ['--heap-growing-percent=50', '--semi-space-growth-factor=1', '--max-semi-space-size=16'],
  },
  {
    name: '--max-semi-space-size=16 for Node, growing percent set at start',
    nodeFlags: ['--max-semi-space-size=16'],
    setAtStart: ['--heap-growing-percent=50'],
  },
  { name: 'adjusted at every collection', setAtStart: ['observer'] },
];
/** Destinations that respond at once, and some that take a second. */
const LOADS: readonly Load[] = [
  { name: 'fast', jobs: 40_000, delayMilliseconds: 5 },
  { name: 'slow', jobs: 25_000, delayMilliseconds: 500 },
];
const IN_FLIGHT = 2_048;

/** Keeps roughly what a delivery keeps: a row, its parsed payload, the body, the signed request, and the response. */
async function deliver(row: string, key: Buffer, { delayMilliseconds }: Load): Promise<number> {
  const event = JSON.parse(row) as Record<string, unknown>;
  const body = JSON.stringify({ ...event, sentAt: Date.now() });
  const signature = createHmac('sha256', key).update(body).digest('base64');
  const headers = new Map(Object.entries({ 'content-type': 'application/json', 'webhook-signature': signature }));
  const request = Buffer.from(body);
  const { promise, resolve } = Promise.withResolvers<void>();
  setTimeout(resolve, delayMilliseconds * (0.5 + Math.random()));
  await promise;
  const attempt = { headers: [...headers], response: body.slice(0, 1_000), event, bytes: request.byteLength };
  return JSON.stringify(attempt).length;
}

async function runLoad(load: Load): Promise<void> {
  const items = Array.from({ length: 100 }, (_, index) => ({ id: `item_${index}`, amount: `${index}.000001` }));
  const row = JSON.stringify({ type: 'payment.settled', data: { items } });
  const key = randomBytes(32);
  let next = 0;
  const lane = async () => {
    while (next++ < load.jobs) await deliver(row, key, load);
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
}

async function measure({ nodeFlags = [], setAtStart = [] }: Variant, load: Load): Promise<Result> {
  const args = [...nodeFlags, import.meta.filename, 'child', load.name, ...setAtStart];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout) as Result;
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

const [first, loadName, ...flags] = process.argv.slice(2);
if (first === 'child') {
  for (const flag of flags) {
    if (flag === 'observer') (await import('../../src/heap-growth.ts')).growHeapSlowly('');
    else setFlagsFromString(flag);
  }
  await runLoad(LOADS.find(({ name }) => name === loadName)!);
  const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
  console.log(JSON.stringify({ maxRssMegabytes: maxRSS / 1024, cpuSeconds: (userCPUTime + systemCPUTime) / 1e6 }));
} else {
  for (const load of LOADS) {
    const results = new Map<string, Result[]>(VARIANTS.map(({ name }) => [name, []]));
    for (let round = 0; round < Number(first ?? 5); round++)
      for (const variant of VARIANTS) results.get(variant.name)!.push(await measure(variant, load));
    console.log(`\n| ${load.name} | peak RSS (MB) | CPU (s) |\n|---|---|---|`);
    for (const [name, runs] of results) {
      const rss = median(runs.map(({ maxRssMegabytes }) => maxRssMegabytes));
      const cpu = median(runs.map(({ cpuSeconds }) => cpuSeconds));
      console.log(`| ${name} | ${rss.toFixed(0)} | ${cpu.toFixed(1)} |`);
    }
  }
}
