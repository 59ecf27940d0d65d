import { serve } from '@hono/node-server';
import { paymentMiddleware, x402ResourceServer } from '@x402/hono';
import { Hono } from 'hono';
import { opened } from './opened.mjs';
import { createUpstream, paidRoute } from './x402-common.mjs';

export async function createServer(options) {
  const ask = createUpstream(options.upstreamUrl);
  const app = new Hono();
  app.use(paymentMiddleware(...paidRoute(x402ResourceServer, options)));
  app.get('/data', async (context) => {
    const { status, type, body } = await ask();
    return context.body(body, status, { 'content-type': type });
  });
  return opened(serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }));
}
