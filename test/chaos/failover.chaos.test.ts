import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { runBench } from '../support/bench.ts';

// The short version of `npm run failover`.

const PROGRAMS = ['unshare', 'ip', 'setpriv', 'patroni', 'etcd', 'haproxy', 'pgbouncer'];

const isInstalled =
  process.platform === 'linux' &&
  process.getuid?.() === 0 &&
  existsSync('/usr/lib/postgresql/15/bin/postgres') &&
  PROGRAMS.every((name) => spawnSync('sh', ['-c', `command -v ${name}`]).status === 0);

test.skipIf(!isInstalled)(
  'nothing is lost or charged twice when the primary database node crashes',
  async ({ signal }) => {
    const { code, output } = await runBench('failover/main.ts', ['--short'], signal);
    expect(code, output).toBe(0);
    const [, changes, endpoints, responses] = output.match(/(\d+) changes, (\d+) endpoints, (\d+) paid responses/)!;
    for (const count of [changes, endpoints, responses]) expect(Number(count)).toBeGreaterThan(10);
  },
);
