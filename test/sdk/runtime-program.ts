import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startTestApp } from '../support/app.ts';
import { startReceiver } from '../support/receiver.ts';
import { createProject, createWebhook } from '../support/resources.ts';

// A program that uses the SDK in ways that differ between runtimes: requests, streams, timers, and WebCrypto.

const ROOT = join(import.meta.dirname, '../..');
const run = promisify(execFile);

const PROGRAM = `
import { Tollgate, verifyWebhook } from './sdk.mjs';

export async function use({ url, token, projectId, secret, body, headers }) {
  const tollgate = new Tollgate({ baseUrl: url, token, projectId });
  const create = (path, priceUsd = '0.01') =>
    tollgate.endpoints.create({ path, upstreamUrl: 'https://api.example.com', priceUsd });
  await create('/one');
  const { code } = await create('/free', 'free').catch((error) => error);
  let followed;
  const onReady = () => void create('/two');
  for await (const event of tollgate.events.follow({ eventType: ['endpoint.created'] }, { onReady })) {
    followed = event.data.path;
    break;
  }
  const paths = [];
  for await (const { path } of tollgate.endpoints.list({ limit: 1 })) paths.push(path);
  const { type } = await verifyWebhook({ payload: new TextEncoder().encode(body), headers, secret });
  const forged = await verifyWebhook({ payload: body + ' ', headers, secret }).catch(({ name }) => name);
  return { code, followed, paths, type, forged };
}
`;

/** What the program returns. */
export const EXPECTED = {
  code: 'VALIDATION_FAILED',
  followed: '/two',
  paths: ['/two', '/one'],
  type: 'payment.settled',
  forged: 'WebhookVerificationError',
};

/** Writes `sdk.mjs`, which is the SDK minified, and `program.mjs` to a folder. */
export async function writeProgram(folder: string): Promise<void> {
  const rolldown = join(ROOT, 'node_modules/rolldown/bin/cli.mjs');
  const options = ['--format', 'esm', '--minify', '--file', join(folder, 'sdk.mjs')];
  await run(process.execPath, [rolldown, join(ROOT, 'packages/sdk/src/index.ts'), ...options]);
  await writeFile(join(folder, 'program.mjs'), PROGRAM);
}

/** Starts a service that has delivered a webhook. */
export async function openStage(env: Record<string, string> = {}) {
  const app = await startTestApp({ env });
  const alice = await app.user('alice');
  const receiver = await startReceiver();
  const { base } = await createProject(alice);
  const webhook = await createWebhook(alice, base, { url: receiver.url });
  await alice.rest('POST', `${base}/webhooks/${webhook.id}/test`, { eventType: 'payment.settled' });
  const [delivery] = await receiver.waitFor(1);
  const { headers, body } = delivery!;
  return {
    /** The argument of `use`, with a new project. */
    async input() {
      const { id: projectId } = await createProject(alice);
      const signed = { secret: webhook.secret, body: body.toString(), headers };
      return { url: app.url, token: alice.token, projectId, ...signed };
    },
    async close() {
      await receiver.close();
      await app.stop();
    },
  };
}
