// Code that all x402 peers share. They sell one route for a cent through the facilitator, and pass on the upstream's
// response.
import { HTTPFacilitatorClient } from '@x402/core/server';
import { ExactEvmScheme } from '@x402/evm/exact/server';
import { Pool } from 'undici';

/** The arguments of a `paymentMiddleware`. */
export function paidRoute(x402ResourceServer, { network, payTo, facilitatorUrl }) {
  const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: facilitatorUrl }));
  const accepts = { scheme: 'exact', price: '$0.01', network, payTo, maxTimeoutSeconds: 120 };
  const route = { accepts, description: 'Data' };
  return [{ 'GET /data': route, 'GET /stream': route }, server.register(network, new ExactEvmScheme())];
}

/** Returns a function that opens the upstream's stream. */
export function createStream(upstreamUrl) {
  const pool = new Pool(new URL(upstreamUrl).origin, { connections: 128 });
  return () => pool.request({ method: 'GET', path: '/stream' });
}

/** Returns a function that calls the upstream. */
export function createUpstream(upstreamUrl) {
  const { origin, pathname } = new URL(upstreamUrl);
  const pool = new Pool(origin, { connections: 128 });
  return async () => {
    const { statusCode, headers, body } = await pool.request({ method: 'GET', path: pathname });
    return { status: statusCode, type: headers['content-type'], body: await body.text() };
  };
}
