import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { parseEgressAllow } from '../egress/allow-list.ts';
import { createEgress } from '../egress/egress.ts';
import type { Network } from '../gateway/chain/networks.ts';
import type { PaymentRails } from '../gateway/chain/rails.ts';
import { egressTransport } from '../gateway/chain/rpc.ts';
import { readOrCreate } from '../secrets/create-once.ts';
import { findAnvil, startAnvil } from './anvil.ts';
import { prepareChain } from './chain.ts';
import { startDemoUpstream } from './demo-upstream.ts';
import { createLocalFacilitator, inProcess } from './facilitator.ts';

/** The contents of `<data dir>/sandbox.json` while the sandbox runs, for scripts. */
export type SandboxFile = {
  network: string;
  asset: string;
  rpcUrl: string;
  /** Null if the demo API couldn't start, usually because its port was in use. */
  upstreamUrl: string | null;
  /** A buyer's wallet with test money. The key is worthless elsewhere. */
  wallet: { address: string; privateKey: string };
};

export type Sandbox = SandboxFile & { rails: PaymentRails; stop(): Promise<void> };

/** One of the ports that EGRESS_ALLOW includes in development. */
const DEMO_UPSTREAM_PORT = 4011;
const DEMO_DOLLARS_ATOMIC = 1_000_000_000n;

/**
 * Runs locally everything that payments need: a chain with dollars, a facilitator, an API to pay for, and a wallet to
 * pay from. Without the anvil binary, it logs a warning and returns undefined.
 */
export async function startSandbox(options: {
  network: Network;
  dataDir: string;
  log: Logger;
}): Promise<Sandbox | undefined> {
  const { network, dataDir, log } = options;
  const binary = findAnvil();
  if (!binary) {
    log.warn(
      { platform: `${process.platform}-${process.arch}` },
      'the sandbox is off because the package @foundry-rs/anvil is not installed for this platform; payments go to the public test network',
    );
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

  async function run(program: string): Promise<Sandbox> {
    const anvil = await startAnvil({ binary: program, chainId: network.chainId });
    closers.push(anvil.stop);
    // A separate egress for this one port, so the service's own egress stays closed to it.
    const egress = createEgress({ allow: parseEgressAllow(`127.0.0.1/32:${anvil.port}`), log });
    closers.push(egress.close);
    const transport = egressTransport(egress, anvil.rpcUrl);
    const chain = await prepareChain({ network, transport });
    const endpoints = createLocalFacilitator({ network, transport });
    await chain.giveGas(endpoints.address);
    const wallet = await demoWallet(dataDir);
    await chain.giveDollars(wallet.address, DEMO_DOLLARS_ATOMIC);
    const upstream = await startDemoUpstream(DEMO_UPSTREAM_PORT).catch((error) => {
      log.warn({ err: error }, 'could not start the demo API, so it is off');
      return undefined;
    });
    if (upstream) closers.push(upstream.stop);

    const file: SandboxFile = {
      network: network.id,
      asset: network.asset.address,
      rpcUrl: anvil.rpcUrl,
      upstreamUrl: upstream?.url ?? null,
      wallet,
    };
    const path = join(dataDir, 'sandbox.json');
    await mkdir(dataDir, { recursive: true });
    await writeFile(path, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 });
    closers.push(() => rm(path, { force: true }));
    let isStopping = false;
    anvil.ended.then(
      () => isStopping || log.error('the local chain has stopped, so payments can no longer be settled'),
    );
    return {
      ...file,
      rails: { facilitator: inProcess(endpoints), transport },
      stop() {
        isStopping = true;
        return stop();
      },
    };
  }
}

/** The same wallet on every start, so it stays the same customer. */
async function demoWallet(dataDir: string) {
  const text = await readOrCreate(join(dataDir, 'sandbox-wallet'), () => `${generatePrivateKey()}\n`);
  const privateKey = text.trim() as `0x${string}`;
  return { address: privateKeyToAccount(privateKey).address, privateKey };
}
