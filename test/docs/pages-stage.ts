import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { startDemoUpstream } from '../../src/sandbox/demo-upstream.ts';
import type { SandboxFile } from '../../src/sandbox/sandbox.ts';
import { AUTHORITY, CLIENT_CERTIFICATE, CLIENT_KEY } from '../egress/authority.ts';
import { NETWORK, startRails } from '../gateway/support.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { freePort } from '../support/free-port.ts';
import { operatorsEnv, userIdOf } from '../support/operator.ts';
import { startReceiver } from '../support/receiver.ts';
import { createEndpoint, createProject, createWebhook } from '../support/resources.ts';
import { type Shell, startShell } from './shell.ts';

/** What a page needs besides a project, as in the table in `docs/examples.md`. */
export type PageNeeds = {
  /** The person who owns the project. An operator is someone who runs the server. */
  subject?: 'alice' | 'olga';
  /** A server that also serves live networks. */
  isLive?: boolean;
  /** The mode of the project on such a server. */
  mode?: 'LIVE' | 'TEST';
};

export type OpenPage = {
  shell: Shell;
  /** Replaces the addresses and IDs in a block with this server's addresses and IDs. */
  adapt: (code: string) => string;
  /** Causes another event. */
  nudge: () => Promise<unknown>;
  close: () => Promise<void>;
};

/** The seller's document in the examples. JSON is also YAML. */
const OPENAPI = JSON.stringify({
  openapi: '3.1.0',
  info: { title: 'Pets', version: '1' },
  servers: [{ url: 'https://api.example.com/v1' }],
  paths: { '/pets': { get: { summary: 'List pets' } }, '/pets/{petId}': { get: { summary: 'Get a pet' } } },
});

export type Stage = Awaited<ReturnType<typeof startStage>>;

/** One server for the blocks of all pages, with a sandbox, as `npm start` runs it in development. */
export async function startStage() {
  const rails = await startRails();
  const upstream = await startDemoUpstream(await freePort());
  const receiver = await startReceiver();
  // To check a Slack webhook, the service sends something that isn't JSON, and expects this error.
  const slack = await startReceiver(({ body }) =>
    body.toString() === '{' ? { statusCode: 400, body: 'invalid_payload' } : { body: 'ok' },
  );
  const env = {
    NODE_ENV: 'development',
    SANDBOX: 'off',
    EGRESS_ALLOW: '',
    ...operatorsEnv('olga', 'alice'),
  };
  const api = await startReceiver(() => ({ headers: { 'content-type': 'application/json' }, body: OPENAPI }));
  const hostOverrides = { 'hooks.slack.com': slack.url, 'api.example.com': api.url };
  const app = await startTestApp({ env: { ...rails.env, ...env }, hostOverrides });
  const networks = [NETWORK.id, 'eip155:8453', 'eip155:137'];
  const everyNetwork = (url: string) => JSON.stringify(Object.fromEntries(networks.map((id) => [id, url])));
  const live = await startTestApp({
    env: {
      ...env,
      NETWORKS: networks.join(),
      FACILITATOR_URLS: everyNetwork(rails.facilitator.url),
      RPC_URLS: everyNetwork(rails.rpcUrl),
    },
    databaseUrl: app.databaseUrl,
    dataDir: app.dataDir,
  });

  const privateKey = generatePrivateKey();
  const { address } = privateKeyToAccount(privateKey);
  await rails.chain.giveDollars(address, 1_000_000_000n);
  const sandbox: SandboxFile = {
    serverUrl: app.url,
    network: NETWORK.id,
    asset: NETWORK.asset.address,
    rpcUrl: rails.rpcUrl,
    upstreamUrl: upstream.url,
    wallet: { address, privateKey },
  };
  await writeFile(join(app.dataDir, 'sandbox.json'), JSON.stringify(sandbox));
  const customer = await app.user('auth0|5678', 'STARTER');
  const customerId = await userIdOf(customer);

  /** Opens a shell with the examples' variables, in a folder that looks like a clone. */
  async function open({ subject = 'alice', isLive = false, mode }: PageNeeds): Promise<OpenPage> {
    const server: TestApp = isLive ? live : app;
    const user = await server.user(subject, 'ENTERPRISE');
    const { id: projectId, base } = await createProject(user, mode && { mode });
    const webhook = await createWebhook(user, base, { url: receiver.url });
    const endpoint = await createEndpoint(user, base, { path: '/weather', upstreamUrl: `${upstream.url}/weather` });
    const nudge = () => createEndpoint(user, base);
    await nudge();
    const [first] = await receiver.waitFor(({ body }) => body.includes(projectId));
    const deliveries = await user.rest<{ data: { id: string }[] }>('GET', `${base}/deliveries`);
    const ids: Record<string, string> = {
      proj: projectId,
      ep: endpoint.id,
      wh: webhook.id,
      dlv: deliveries.body.data[0]!.id,
      usr: customerId,
      evt: String(first!.headers['webhook-id']),
    };
    const folder = await mkdtemp(join(tmpdir(), 'tollgate-page-'));
    await symlink(app.dataDir, join(folder, '.data'));
    await writeFile(join(folder, 'openapi.yaml'), OPENAPI);
    await writeFile(join(folder, 'ca.pem'), AUTHORITY);
    await writeFile(join(folder, 'client.pem'), CLIENT_CERTIFICATE);
    await writeFile(join(folder, 'client-key.pem'), CLIENT_KEY);
    const [receiverPort, apiPort] = [await freePort(), await freePort()];
    const shell = startShell(folder, {
      TOLLGATE: server.url,
      TOKEN: user.token,
      PROJECT: projectId,
      ENDPOINT: endpoint.id,
      WEBHOOK: webhook.id,
      DELIVERY: ids.dlv!,
      SLACK_URL: 'https://hooks.slack.com/services/T012AB3CD/B045EF6GH/abcdefghijklmn',
      DATA_DIR: app.dataDir,
      TOLLGATE_URL: server.url,
      TOLLGATE_PROJECT: projectId,
      TOLLGATE_TOKEN: user.token,
    });
    return {
      shell,
      nudge,
      adapt: (code) =>
        code
          .replaceAll('http://127.0.0.1:4000', server.url)
          .replaceAll('http://127.0.0.1:4010', `http://127.0.0.1:${receiverPort}`)
          .replaceAll('http://127.0.0.1:4011', upstream.url)
          .replaceAll('--silent receiver', `--silent receiver -- --port ${receiverPort}`)
          .replaceAll(/localhost:9000|listen\(9000/g, (text) => text.replace('9000', String(apiPort)))
          .replaceAll(/\b([a-z]+)_01[0-9a-hjkmnp-tv-z]{24}\b/g, (sample, prefix) => ids[prefix] ?? sample),
      async close() {
        await shell.close();
        await rm(folder, { recursive: true, force: true });
      },
    };
  }

  return {
    app,
    sandbox,
    open,
    async stop() {
      await live.stop();
      await app.stop();
      for (const server of [slack, api, receiver]) await server.close();
      await upstream.stop();
      await rails.close();
    },
  };
}
