import type { Logger } from 'pino';
import type { Transport } from 'viem';
import type { Config } from '../config/config.ts';
import type { Egress } from '../egress/egress.ts';
import type { Ledger } from '../features/payments/ledger.ts';
import { createFailedCredentials } from '../limits/failed-credentials.ts';
import type { RateLimiter } from '../limits/rate-limit.ts';
import { createChain } from './chain/chain.ts';
import type { Facilitator, SupportedKind } from './chain/facilitator.ts';
import { createFacilitatorAuth } from './chain/facilitator-auth.ts';
import { createHttpFacilitator } from './chain/facilitator-http.ts';
import { measureFacilitator, type OnFacilitatorCall } from './chain/measured-facilitator.ts';
import type { Network } from './chain/networks.ts';
import { egressTransport } from './chain/rpc.ts';
import { createAnswerMemory } from './payment/answer-memory.ts';
import type { PaidRequest } from './payment/paid-request.ts';
import { createPay, type OnPaymentStep } from './payment/pay.ts';
import { createRecovery } from './payment/recovery.ts';
import { createRepeat } from './payment/repeat.ts';
import { createSettler } from './payment/settle.ts';
import { createVerify } from './payment/verify.ts';
import type { GatewayOptions } from './register.ts';
import type { RouteTable } from './routing/route-table.ts';
import type { GatewayAnswer } from './upstream/answer.ts';
import type { DeliveryLimits } from './upstream/answer-delivery.ts';
import type { UpstreamSigner } from './upstream/signature.ts';

/** Who is told how the work goes. */
export type GatewayMetrics = { onStep: OnPaymentStep; onFacilitatorCall: OnFacilitatorCall };

/** Where payments are verified, settled and looked up. */
export type PaymentRails = { facilitator: Facilitator; transport: Transport };

const REFUSED_PAYMENTS_PER_MINUTE = 60;

/** The rails that the configuration names. */
export function configuredRails(config: Config, egress: Egress, log: Logger): PaymentRails {
  const auth = createFacilitatorAuth(config.facilitatorCredential);
  return {
    facilitator: createHttpFacilitator({ url: config.facilitatorUrl, egress, auth, log }),
    transport: egressTransport(egress, config.rpcUrl),
  };
}

/** Puts the parts of the data plane together and starts to go on with payments that were left behind. */
export function startGateway(options: {
  routes: RouteTable;
  ledger: Ledger;
  egress: Egress;
  rails: PaymentRails;
  network: Network;
  signer: UpstreamSigner;
  rateLimiter: RateLimiter;
  publicUrl: string | undefined;
  deliveryLimits?: DeliveryLimits | undefined;
  log: Logger;
  metrics?: GatewayMetrics;
}): { served: GatewayOptions; stop(): Promise<void> } {
  const { routes, ledger, egress, rails, network, signer, rateLimiter, publicUrl, deliveryLimits, log, metrics } =
    options;
  const { transport } = rails;
  const facilitator = metrics ? measureFacilitator(rails.facilitator, metrics.onFacilitatorCall) : rails.facilitator;
  const chain = createChain({ network, transport });
  const settler = createSettler({ ledger, facilitator, chain, log });
  const repeat = createRepeat({ ledger, settler, network });
  const { dispatcher } = egress;
  const verify = createVerify({ ledger, facilitator, chain, network, log });
  const pay = createPay({
    ...{ ledger, verify, settler, dispatcher, signer, network, repeat, log },
    ...(metrics && { onStep: metrics.onStep }),
  });
  const recovery = createRecovery({ ledger, settler, log });
  recovery.start();
  const refusedPayments = createFailedCredentials({
    ...{ rateLimiter, scope: 'payments', what: 'payments' },
    failuresPerMinute: REFUSED_PAYMENTS_PER_MINUTE,
  });
  const answerMemory = createAnswerMemory();
  const { run, settled } = untilSettled(pay);
  const served = { routes, network, pay: run, refusedPayments, answerMemory, deliveryLimits, publicUrl };
  return {
    served,
    async stop() {
      await settled();
      await recovery.stop();
    },
  };
}

/** A payment goes on when its buyer has gone, so the server may have closed before it has ended. */
function untilSettled(pay: GatewayOptions['pay']) {
  const running = new Set<Promise<unknown>>();
  return {
    run(request: PaidRequest): Promise<GatewayAnswer> {
      const answer = pay(request);
      const ended = answer.catch(() => {}).finally(() => running.delete(ended));
      running.add(ended);
      return answer;
    },
    settled: () => Promise.all(running),
  };
}

/** Whether payments on this network are among what a facilitator settles. */
export function isOffered(kinds: SupportedKind[], network: Network): boolean {
  const names = [network.id, network.v1Name, 'eip155:*'];
  return kinds.some((kind) => kind.scheme === 'exact' && names.includes(kind.network));
}

/** Says in the log when the facilitator does not offer what is needed: payments would all be refused. */
export async function checkFacilitator(facilitator: Facilitator, network: Network, log: Logger): Promise<void> {
  try {
    if (isOffered(await facilitator.supported(), network)) return;
    log.error({ network: network.id }, 'the facilitator does not settle payments on this network');
  } catch (error) {
    log.warn({ err: error }, 'the facilitator could not be asked what it supports');
  }
}
