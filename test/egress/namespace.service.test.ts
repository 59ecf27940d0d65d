import { execFile, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { PUBLIC_ADDRESSES } from './hostile-targets.ts';
import type { ProbeReport } from './namespace-probe.ts';

// In its own namespace, this machine owns all addresses, and nothing can leave it.
const OWN_PUBLIC_ADDRESS = '93.184.216.35';
const SETUP = [
  'ip link set lo up',
  `ip addr add ${OWN_PUBLIC_ADDRESS}/32 dev lo`,
  'ip route add local 0.0.0.0/0 dev lo',
  'ip -6 route add local ::/0 dev lo',
].join(' && ');
const canIsolate = spawnSync('unshare', ['-rn', 'sh', '-c', SETUP]).status === 0;

describe.skipIf(!canIsolate)('the egress guard, with a server at every address (needs `unshare -rn` and `ip`)', () => {
  test("reaches every public address, but no denied address and none of this machine's own", async () => {
    const probe = fileURLToPath(new URL('namespace-probe.ts', import.meta.url));
    const command = `${SETUP} && exec "$0" "$1" ${OWN_PUBLIC_ADDRESS}`;
    const { stdout } = await promisify(execFile)('unshare', ['-rn', 'sh', '-c', command, process.execPath, probe]);
    const report: ProbeReport = JSON.parse(stdout);
    expect(report.tried).toBeGreaterThan(5_000);
    expect(report.reachedDenied).toEqual([]);
    expect(report.reachedOwn).toEqual([]);
    const plain = (address: string) => address.replace(/^::ffff:/, '');
    expect(report.reachedPublic.map(plain)).toEqual(PUBLIC_ADDRESSES.map(plain));
  });
});
