// What every x402 peer does: sell one route for a cent, through the facilitator, and pass on the upstream's response.
import { HTTPFacilitatorClient } from '@x402/core/server';
import { ExactEvmScheme } from '@x402/evm/exact/server';
import { Pool } from 'undici';

/** The arguments of a `paymentMiddleware`. */
export function paidRoute(x402ResourceServer, { network, payTo, facilitatorUrl }) {
  const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: facilitatorUrl }));
  const accepts = { scheme: 'exact', price: '$0.01', network, payTo, maxTimeoutSeconds: 120 };
  return [{ 'GET /data': { accepts, description: 'Data' } }, server.register(network, new ExactEvmScheme())];
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
