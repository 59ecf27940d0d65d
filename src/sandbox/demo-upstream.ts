import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';

type DemoResponse = { statusCode?: number; body: unknown };

/** APIs that a seller might have. Each response also says who paid, according to the gateway. */
const DEMO_APIS: Record<string, (url: URL, request: IncomingMessage) => DemoResponse | Promise<DemoResponse>> = {
  '/weather': (url) => ({
    body: { city: url.searchParams.get('city') ?? 'Lisbon', celsius: 21, sky: 'clear' },
  }),
  '/quotes': (url) => ({ body: { symbol: url.pathname.split('/')[2] ?? 'ETH', usd: '3141.59' } }),
  '/echo': async (_url, request) => ({ body: { youSent: await text(request) } }),
  '/broken': () => ({ statusCode: 500, body: { error: "This API always fails, so you aren't charged." } }),
};

export type DemoUpstream = { url: string; stop(): Promise<void> };

/** Serves the demo APIs on loopback. @throws Error if it can't listen on the port. */
export async function startDemoUpstream(port: number): Promise<DemoUpstream> {
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '/', 'http://demo');
    const route = DEMO_APIS[`/${url.pathname.split('/')[1]}`];
    const { statusCode = 200, body } = route
      ? await route(url, request)
      : { statusCode: 404, body: { error: `Not found. Try one of ${Object.keys(DEMO_APIS).join(', ')}.` } };
    const paidBy = request.headers['tollgate-payer'] ?? 'nobody';
    response.writeHead(statusCode, { 'content-type': 'application/json' });
    response.end(`${JSON.stringify({ ...(body as object), paidBy }, null, 2)}\n`);
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${port}`,
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
