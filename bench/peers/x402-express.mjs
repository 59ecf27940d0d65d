import { paymentMiddleware, x402ResourceServer } from '@x402/express';
import express from 'express';
import { opened } from './opened.mjs';
import { createStream, createUpstream, paidRoute } from './x402-common.mjs';

export async function createServer(options) {
  const ask = createUpstream(options.upstreamUrl);
  const openStream = createStream(options.upstreamUrl);
  const app = express();
  app.use(paymentMiddleware(...paidRoute(x402ResourceServer, options)));
  app.get('/data', async (_request, response) => {
    const { status, type, body } = await ask();
    response.status(status).type(type).send(body);
  });
  app.get('/stream', async (_request, response) => {
    const { statusCode, headers, body } = await openStream();
    response.status(statusCode).type(headers['content-type']);
    body.pipe(response);
  });
  return opened(app.listen(0, '127.0.0.1'));
}
