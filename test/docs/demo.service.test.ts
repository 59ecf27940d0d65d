import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findNetwork } from '../../src/gateway/chain/networks.ts';
import { type DemoUpstream, startDemoUpstream } from '../../src/sandbox/demo-upstream.ts';
import type { SandboxFile } from '../../src/sandbox/sandbox.ts';
import { NETWORK, networksEnv, type Rails, startRails } from '../gateway/support.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { runCli } from '../support/cli.ts';
import { freePort } from '../support/free-port.ts';
import { ROOT, readPage } from './pages.ts';

let rails: Rails;
/** The second network. */
let others: Rails;
let app: TestApp;
let upstream: DemoUpstream;

beforeAll(async () => {
  [rails, others] = await Promise.all([startRails(), startRails(findNetwork('eip155:421614')!)]);
  upstream = await startDemoUpstream(await freePort());
  app = await startTestApp({ env: networksEnv([rails, others]) });
});

afterAll(async () => {
  await app?.stop();
  await upstream?.stop();
  await rails?.close();
  await others?.close();
});

let sandbox: SandboxFile;

/** Runs a command while the sandbox is running. */
const tollgate = (...args: string[]) => runCli(args, { DATA_DIR: app.dataDir, PUBLIC_URL: app.url });

test('the demo pays with the standard client on both networks and shows the events', async () => {
  expect(await readPage('README.md')).toContain('\nnpx tollgate demo\n');
  const privateKey = generatePrivateKey();
  const { address } = privateKeyToAccount(privateKey);
  for (const { chain } of [rails, others]) await chain.giveDollars(address, 1_000_000_000n);
  sandbox = {
    serverUrl: app.url,
    network: NETWORK.id,
    asset: NETWORK.asset.address,
    rpcUrl: rails.rpcUrl,
    upstreamUrl: upstream.url,
    wallet: { address, privateKey },
  };
  await writeFile(join(app.dataDir, 'sandbox.json'), JSON.stringify(sandbox));

  const { stdout } = await promisify(execFile)('npx', ['tollgate', 'demo', '--port', String(await freePort())], {
    cwd: ROOT,
    env: { ...process.env, DATA_DIR: app.dataDir, PUBLIC_URL: app.url },
  });

  expect(stdout).toMatch(/GET \S+\/weather → 402/);
  expect(stdout).toMatch(/GET \/weather\?city=Bern → 200/);
  expect(stdout).toMatch(/GET \/broken → 500/);
  const [, projectId] = /\/console\/projects\/(proj_[0-9A-Za-z-]+)\n*$/.exec(stdout)!;
  const owner = await app.user('alice');
  expect(await owner.rest('GET', `/api/projects/${projectId}`)).toMatchObject({ status: 200, body: { name: 'Demo' } });
  expect(
    stdout
      .match(/^ +(payment|customer)\.\w+/gm)
      ?.map((line) => line.trim())
      .sort(),
  ).toEqual([
    'customer.first_payment',
    'payment.failed',
    ...['payment.settled', 'payment.settled'],
    ...['payment.verified', 'payment.verified', 'payment.verified'],
  ]);
  expect(stdout).toContain('revenue 0.012 USD from 2 payments');
  expect(await rails.chain.balanceOf(address)).toBe(1_000_000_000n - 10_000n);
  expect(await others.chain.balanceOf(address)).toBe(1_000_000_000n - 2_000n);
});

test('with --json, the demo and pay print one JSON document on standard output', async () => {
  const demo = await tollgate('demo', '--json', '--port', String(await freePort()));
  expect({ code: demo.code, stderr: demo.stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('402') });
  const { projectId, ...result } = JSON.parse(demo.stdout);
  const paid = { status: 200, transaction: expect.stringMatching(/^0x/) };
  expect(result).toEqual({
    payments: [
      { path: '/weather?city=Bern', ...paid, network: rails.network.id },
      { path: '/quotes/ETH', ...paid, network: others.network.id },
      { path: '/broken', status: 500, transaction: null, network: null },
    ],
    totalUsd: '0.012',
    paymentCount: 2,
  });
  const pay = await tollgate('pay', `${app.url}/gateway/${projectId}/weather?city=Bern`, '--json');
  expect(JSON.parse(pay.stdout)).toMatchObject({ ...paid, body: expect.stringContaining('Bern') });
  const broken = await tollgate('pay', `${app.url}/gateway/${projectId}/broken`, '--json');
  expect({ code: broken.code, stdout: JSON.parse(broken.stdout) }).toMatchObject({ code: 1, stdout: { status: 500 } });
  expect(JSON.parse(broken.stderr)).toMatchObject({ code: 'FAILED', exitCode: 1 });
});
