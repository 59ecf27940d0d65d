import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { runBench } from '../support/bench.ts';

// `npm run upgrade`. It needs the commit of the last release, which shallow clones lack.

const ROOT = resolve(import.meta.dirname, '../..');
const { commit } = JSON.parse(readFileSync(resolve(ROOT, 'test/compatibility/released/release.json'), 'utf8')) as {
  commit: string;
};
const hasCommit =
  spawnSync('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: ROOT, stdio: 'ignore' }).status === 0;

test.skipIf(!hasCommit)(
  'nothing is lost or charged twice while processes of the last release and of this version replace each other',
  async ({ signal }) => {
    const { code, output } = await runBench('upgrade/main.ts', [], signal);
    expect(code, output).toBe(0);
    const [, changes, endpoints, responses] = output.match(/(\d+) changes, (\d+) endpoints, (\d+) paid responses/)!;
    for (const count of [changes, endpoints, responses]) expect(Number(count)).toBeGreaterThan(50);
  },
);
