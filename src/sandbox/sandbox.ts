import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Logger } from 'pino';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { parseEgressAllow } from '../egress/allow-list.ts';
import { createEgress } from '../egress/egress.ts';
import type { Network } from '../gateway/chain/networks.ts';
import type { PaymentRail } from '../gateway/chain/rails.ts';
import { egressTransport } from '../gateway/chain/rpc.ts';
import { readOrCreate } from '../secrets/create-once.ts';
import { explainNoAnvil, findAnvil, startAnvil } from './anvil.ts';
import { prepareChain } from './chain.ts';
import { startDemoUpstream } from './demo-upstream.ts';
import { createLocalFacilitator, inProcess } from './facilitator.ts';
import { createTestPayments, type TestPayments } from './test-payments.ts';

/**
 * The contents of `<data dir>/sandbox.json` while a server with a sandbox runs, for scripts. It describes the first
 * network.
 */
export type SandboxFile = {
  serverUrl: string;
  network: string;
  asset: string;
  rpcUrl: string;
  /** Null if the demo API couldn't start, usually because its port was in use. */
  upstreamUrl: string | null;
  /** A buyer's wallet with test money. The key is worthless elsewhere. */
  wallet: { address: string; privateKey: string };
};

export type Sandbox = Omit<SandboxFile, 'serverUrl'> & {
  rails: PaymentRail[];
  testPayments: TestPayments;
  /** Where the demo API listens, or would if the port weren't taken. */
  demoPort: number;
  /** The local chain that stands in for each network. */
  chains: { network: Network; rpcUrl: string }[];
  /**
   * Writes `sandbox.json`. Called once the server is listening, so that a server that can't start doesn't replace the
   * file of one that is running.
   */
  publish(serverUrl: string): Promise<void>;
  /** Stops everything, and removes `sandbox.json` unless another server has replaced it. */
  stop(): Promise<void>;
};

/** EGRESS_ALLOW always includes this port in development. */
const DEMO_UPSTREAM_PORT = 4011;
const DEMO_DOLLARS_ATOMIC = 1_000_000_000n;

/**
 * Runs a local version of everything that payments need: a chain with dollars and a facilitator for each network, an
 * API to pay for, and a wallet to pay from. Without the anvil binary, it logs a warning and returns undefined.
 */
export async function startSandbox(options: {
  /** At least one, preferred first. */
  networks: readonly Network[];
  dataDir: string;
  log: Logger;
}): Promise<Sandbox | undefined> {
  const { networks, dataDir, log } = options;
  const binary = findAnvil();
  if (!binary) {
    log.warn(explainNoAnvil(process.platform, process.arch));
    return undefined;
  }
  const closers: (() => Promise<unknown>)[] = [];
  const stop = async () => {
    for (const close of closers.toReversed())
      await close().catch((error) => log.warn({ err: error }, "couldn't stop part of the sandbox"));
  };
  try {
    return await run(binary);
  } catch (error) {
    log.error({ err: error }, 'the sandbox did not start; payments go to the public test network');
    await stop();
    return undefined;
  }

  async function runChain(program: string, network: Network, wallet: `0x${string}`) {
    const anvil = await startAnvil({ binary: program, chainId: network.chainId });
    closers.push(anvil.stop);
    // A separate egress for this one port, so the service's own egress stays closed to it.
    const egress = createEgress({ allow: parseEgressAllow(`127.0.0.1/32:${anvil.port}`), log });
    closers.push(egress.close);
    const transport = egressTransport(egress, anvil.rpcUrl);
    const chain = await prepareChain({ network, transport });
    const endpoints = createLocalFacilitator({ network, transport });
    await chain.giveGas(endpoints.address);
    await chain.giveDollars(wallet, DEMO_DOLLARS_ATOMIC);
    const rail: PaymentRail = { network, facilitator: inProcess(endpoints), transport };
    return { rail, rpcUrl: anvil.rpcUrl, ended: anvil.ended };
  }

  async function run(program: string): Promise<Sandbox> {
    const wallet = await demoWallet(dataDir);
    const chains = [];
    for (const network of networks) chains.push(await runChain(program, network, wallet.address));
    const [{ rail, rpcUrl }] = chains as [(typeof chains)[number]];
    const upstream = await startDemoUpstream(DEMO_UPSTREAM_PORT).catch((error) => {
      log.warn({ err: error }, 'could not start the demo API, so it is off');
      return undefined;
    });
    if (upstream) closers.push(upstream.stop);
    const testPayments = createTestPayments(wallet.privateKey, log);
    closers.push(testPayments.close);

    const facts = {
      network: rail.network.id,
      asset: rail.network.asset.address,
      rpcUrl,
      upstreamUrl: upstream?.url ?? null,
      wallet,
    };
    let isStopping = false;
    for (const { rail, ended } of chains)
      ended.then(() => {
        const message = 'the local chain has stopped, so payments can no longer be settled';
        if (!isStopping) log.error({ network: rail.network.id }, message);
      });
    return {
      ...facts,
      testPayments,
      demoPort: DEMO_UPSTREAM_PORT,
      rails: chains.map(({ rail }) => rail),
      chains: chains.map(({ rail: { network }, rpcUrl }) => ({ network, rpcUrl })),
      async publish(serverUrl) {
        const file: SandboxFile = { serverUrl, ...facts };
        closers.push(await writeOwnFile(join(dataDir, 'sandbox.json'), `${JSON.stringify(file, null, 2)}\n`));
      },
      stop() {
        isStopping = true;
        return stop();
      },
    };
  }
}

/** Writes a file that only this account can read. @returns removes it, unless it has other contents by then */
async function writeOwnFile(path: string, text: string): Promise<() => Promise<void>> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text, { mode: 0o600 });
  return async () => {
    if ((await readFile(path, 'utf8').catch(() => undefined)) === text) await rm(path, { force: true });
  };
}

/** The wallet is the same on every start, so it stays the same customer. */
async function demoWallet(dataDir: string) {
  const text = await readOrCreate(join(dataDir, 'sandbox-wallet'), () => `${generatePrivateKey()}\n`);
  const privateKey = text.trim() as `0x${string}`;
  return { address: privateKeyToAccount(privateKey).address, privateKey };
}
