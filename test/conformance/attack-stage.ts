import type { Logger } from 'pino';
import { startGatewayProcess } from '../gateway/gateway-processes.ts';
import { createShop, startRails } from '../gateway/support.ts';
import { startTestApp } from '../support/app.ts';
import { startReceiver } from '../support/receiver.ts';

export type AttackStage = Awaited<ReturnType<typeof openAttackStage>>;

type Totals = { paymentCount: number; settledCount: number; failedCount: number };

/**
 * A shop with a real chain, facilitator, and upstream.
 *
 * @param options `endpoints`: by path, which is also the upstream's path. `gatewayCount`: how many separate processes
 * serve the paid routes. By default, the service does so itself.
 */
export async function openAttackStage(options: {
  endpoints: Record<string, { priceUsd?: string; description?: string }>;
  gatewayCount?: number;
  log?: Logger;
}) {
  const { endpoints, gatewayCount = 0, log } = options;
  const rails = await startRails();
  const upstream = await startReceiver(() => ({ body: 'served' }));
  const env = { ...rails.env, ...(gatewayCount > 0 && { ROLES: 'api,worker' }) };
  const app = await startTestApp({ env, ...(log && { log }) });
  const gateways = await Promise.all(
    Array.from({ length: gatewayCount }, () => startGatewayProcess(app, rails, { isPatient: true })),
  );
  const seller = await app.user('seller', 'ENTERPRISE');

  const routes = Object.entries(endpoints).map(([path, fields]) => [
    path,
    { ...fields, upstreamUrl: upstream.url + path },
  ]);
  const shop = await createShop(app, seller, Object.fromEntries(routes));

  return {
    rails,
    upstream,
    app,
    seller,
    shop,
    /** Where each process serves the shop's paid routes. */
    urls: (gatewayCount > 0 ? gateways : [app]).map(({ url }) => `${url}/gateway/${shop.projectId}`),
    /** The payments that the seller sees: how many there are in total, and how many are settled or failed. */
    async totals(): Promise<Totals> {
      const { data } = await seller.graphql<{ project: { paymentTotals: Totals } }>(
        'query ($id: ID!) { project(id: $id) { paymentTotals { paymentCount settledCount failedCount } } }',
        { id: shop.projectId },
      );
      return data!.project.paymentTotals;
    },
    async close(): Promise<void> {
      await Promise.all(gateways.map((gateway) => gateway.end('SIGKILL')));
      await app.stop();
      await upstream.close();
      await rails.close();
    },
  };
}
