import type { Logger } from 'pino';
import type { Egress } from '../egress/egress.ts';
import type { Ledger } from '../features/payments/ledger.ts';
import { createFailedCredentials } from '../limits/failed-credentials.ts';
import type { RateLimiter } from '../limits/rate-limit.ts';
import { createChain } from './chain/chain.ts';
import { measureFacilitator, type OnFacilitatorCall } from './chain/measured-facilitator.ts';
import type { Network } from './chain/networks.ts';
import type { PaymentRails } from './chain/rails.ts';
import type { GatewayOptions } from './handle-request.ts';
import { createCallPaid } from './payment/call-paid.ts';
import type { PaidRequest } from './payment/paid-request.ts';
import { createPay, type OnPaymentStep } from './payment/pay.ts';
import { createRecovery } from './payment/recovery.ts';
import { createRepeat } from './payment/repeat.ts';
import { createResponseMemory } from './payment/response-memory.ts';
import { createSettler } from './payment/settle.ts';
import { createVerify } from './payment/verify.ts';
import type { QuickDemands } from './quick-demands.ts';
import type { RouteTable } from './routing/route-table.ts';
import type { GatewayResponse } from './upstream/gateway-response.ts';
import type { ResponsePacing } from './upstream/response-pacing.ts';
import type { UpstreamSigner } from './upstream/signature.ts';

/** Where the gateway reports its metrics. */
export type GatewayMetrics = { onStep: OnPaymentStep; onFacilitatorCall: OnFacilitatorCall };

const REFUSED_PAYMENTS_PER_MINUTE = 60;

/** Builds the gateway from its parts and starts recovering abandoned payments. */
export function startGateway(options: {
  routes: RouteTable;
  ledger: Ledger;
  egress: Egress;
  rails: PaymentRails;
  network: Network;
  signer: UpstreamSigner;
  rateLimiter: RateLimiter;
  publicUrl: string | undefined;
  responsePacing?: ResponsePacing | undefined;
  log: Logger;
  quickDemands: QuickDemands;
  metrics?: GatewayMetrics;
}): { served: GatewayOptions; stop(): Promise<void> } {
  const { routes, ledger, egress, rails, network, signer, rateLimiter, publicUrl, quickDemands, log, metrics } =
    options;
  const { responsePacing } = options;
  const { transport } = rails;
  const facilitator = metrics ? measureFacilitator(rails.facilitator, metrics.onFacilitatorCall) : rails.facilitator;
  const chain = createChain({ network, transport });
  const settler = createSettler({ ledger, facilitator, chain, log });
  const repeat = createRepeat({ ledger, settler, network });
  const verify = createVerify({ ledger, facilitator, chain, network, log });
  const callPaid = createCallPaid({ ledger, dispatcher: egress.dispatcher, signer, network, log });
  const pay = createPay({
    ...{ ledger, verify, callPaid, settler, network, repeat, log },
    ...(metrics && { onStep: metrics.onStep }),
  });
  const recovery = createRecovery({ ledger, settler, log });
  recovery.start();
  const refusedPayments = createFailedCredentials({
    ...{ rateLimiter, scope: 'payments', what: 'payments' },
    failuresPerMinute: REFUSED_PAYMENTS_PER_MINUTE,
  });
  const responseMemory = createResponseMemory();
  const { run, settled } = untilSettled(pay);
  const served = {
    routes,
    network,
    pay: run,
    refusedPayments,
    responseMemory,
    responsePacing,
    quickDemands,
    publicUrl,
  };
  return {
    served,
    async stop() {
      await settled();
      await recovery.stop();
    },
  };
}

/** A payment continues after its buyer disconnects, so the server may close before the payment ends. */
function untilSettled(pay: GatewayOptions['pay']) {
  const running = new Set<Promise<unknown>>();
  return {
    run(request: PaidRequest): Promise<GatewayResponse> {
      const response = pay(request);
      const ended = response.catch(() => {}).finally(() => running.delete(ended));
      running.add(ended);
      return response;
    },
    settled: () => Promise.all(running),
  };
}
