import fastify, { type FastifyRequest } from 'fastify';
import { expect, test } from 'vitest';
import type { GatewayOptions } from '../../src/gateway/handle-request.ts';
import { registerGateway } from '../../src/gateway/register.ts';
import { ignoreTypeOfEmptyBody } from '../../src/http/empty-body.ts';

/** A server with the gateway's routes and one other route, none of which does anything. */
function createServer(onRequest: (request: FastifyRequest) => void) {
  const app = fastify();
  ignoreTypeOfEmptyBody(app);
  app.addHook('preHandler', (request, reply) => {
    onRequest(request);
    return reply.send('ok');
  });
  registerGateway(app, {} as GatewayOptions);
  app.post('/api', async () => 'ok');
  return app;
}

test.each(['/gateway/proj_1/path', '/api'])('the headers of a request to %s are not copied each time', async (url) => {
  const seen: FastifyRequest[] = [];
  const app = createServer((request) => seen.push(request));
  const headers = { 'content-type': 'text/unknown', 'x-note': 'kept' };
  const { statusCode } = await app.inject({ method: 'POST', url, headers });
  expect(statusCode).toBe(200);

  const [request] = seen;
  expect(request!.headers).toBe(request!.headers);
  expect(request!.headers['content-type']).toBeUndefined();
  expect(request!.headers['x-note']).toBe('kept');
  expect(request!.raw.headers['content-type']).toBe('text/unknown');
});
