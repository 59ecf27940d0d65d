import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createShop } from '../gateway/support.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { createWebhook } from '../support/resources.ts';

let app: TestApp;
const servers: Server[] = [];

beforeAll(async () => {
  // The defaults of a developer's machine.
  app = await startTestApp({ env: { NODE_ENV: 'development', SANDBOX: 'off', EGRESS_ALLOW: '' } });
});
afterAll(async () => {
  await app?.stop();
  for (const server of servers) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

/** Starts a server as a seller would. Returns its port, and the paths of its requests. */
async function listen(): Promise<{ port: number; paths: string[] }> {
  const paths: string[] = [];
  const server = createServer(({ url }, response) => {
    paths.push(url!);
    response.end('served');
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as AddressInfo).port, paths };
}

test.each(['localhost', '127.0.0.1'])(
  'in development, a server at %s can be an upstream and a webhook',
  async (name) => {
    const alice = await app.user('alice');
    const { port, paths } = await listen();
    const url = `http://${name}:${port}`;
    const shop = await createShop(app, alice, { '/free': { upstreamUrl: `${url}/upstream`, priceUsd: '0' } });
    const response = await fetch(`${shop.url}/free`);
    expect([response.status, await response.text()]).toEqual([200, 'served']);
    const webhook = await createWebhook(alice, shop.base, { url: `${url}/webhook` });
    await alice.rest('POST', `${shop.base}/webhooks/${webhook.id}/test`, { eventType: 'payment.settled' });
    await expect.poll(() => paths).toEqual(['/upstream', '/webhook']);
  },
);
