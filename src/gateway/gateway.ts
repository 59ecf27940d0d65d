import type { Logger } from 'pino';
import type { ProjectAllow } from '../config/project-allow.ts';
import type { Egress } from '../egress/egress.ts';
import { checkTargetUrl } from '../egress/url.ts';
import type { Ledger } from '../features/payments/ledger.ts';
import type { RateLimiter } from '../limits/rate-limit.ts';
import { createCallFree, type FreeOutcome, isNotificationStream } from './call-free.ts';
import { createChain } from './chain/chain.ts';
import { measureFacilitator, type OnFacilitatorCall } from './chain/measured-facilitator.ts';
import type { PaymentRail } from './chain/rails.ts';
import type { DetailsStore } from './discovery/details.ts';
import type { DocumentsOf } from './discovery/documents.ts';
import type { GatewayOptions } from './handle-request.ts';
import { createMessageLimit } from './mcp/message-limit.ts';
import { createNotificationStreams } from './notification-streams.ts';
import { createBadPayments } from './payment/bad-payments.ts';
import { createCallPaid } from './payment/call-paid.ts';
import { createCallSlots } from './payment/call-slots.ts';
import { createLookups } from './payment/lookups.ts';
import type { PaidRequest } from './payment/paid-request.ts';
import { createPay, type OnPaymentStep } from './payment/pay.ts';
import { createRecovery } from './payment/recovery.ts';
import { createRepeat } from './payment/repeat.ts';
import { createResponseMemory, type ResponseMemoryBounds } from './payment/response-memory.ts';
import { createSettler } from './payment/settle.ts';
import { createStreamPaid } from './payment/stream-paid.ts';
import { createVerify } from './payment/verify.ts';
import type { PaymentRequiredCache } from './payment-required-cache.ts';
import type { PaidRoute } from './routing/load-routes.ts';
import type { RouteTable } from './routing/route-table.ts';
import { endOf, type PaidResponse } from './upstream/gateway-response.ts';
import type { ResponsePacing } from './upstream/response-pacing.ts';
import type { UpstreamSigner } from './upstream/signature.ts';

/** Where the gateway reports its metrics. */
export type GatewayMetrics = {
  onStep: OnPaymentStep;
  onFacilitatorCall: OnFacilitatorCall;
  onFreeRequest(outcome: FreeOutcome): void;
};

/** Builds the gateway from its parts and starts recovering abandoned payments. */
export function startGateway(options: {
  routes: RouteTable;
  ledger: Ledger;
  egress: Egress;
  upstreamAllow: ProjectAllow;
  /** One for each network that the server serves. */
  rails: readonly PaymentRail[];
  signer: UpstreamSigner;
  rateLimiter: RateLimiter;
  /** How many database connections the process has. */
  poolSize: number;
  /** The clock of the limits that this process counts itself: monotonic, in milliseconds. */
  rateLimitNow?: (() => number) | undefined;
  publicUrl: string | undefined;
  /** The time on the clock shared by all processes. */
  now: () => Date;
  responsePacing?: ResponsePacing | undefined;
  responseMemory?: ResponseMemoryBounds | undefined;
  maxCallsPerAddress?: number | undefined;
  /** Whether no payments may be taken or settled now. */
  isOnHold: () => boolean;
  log: Logger;
  paymentRequiredCache: PaymentRequiredCache;
  details: DetailsStore;
  documentsOf: DocumentsOf;
  metrics?: GatewayMetrics;
}): { served: GatewayOptions; stop(): Promise<void> } {
  const { routes, ledger, egress, rails, signer, rateLimiter, publicUrl, paymentRequiredCache, log, metrics } = options;
  const { responsePacing, upstreamAllow, details, documentsOf, now, isOnHold } = options;
  const isOpen = (projectId: string, url: string) => checkTargetUrl(url, upstreamAllow.of(projectId)).ok;
  /**
   * Accounts don't share connections, because many may call the same origin. Free calls, paid calls, and notification
   * streams don't share them either, because anyone can make free calls, or open streams that stay open for minutes.
   */
  const dispatcherFor =
    (use: 'free' | 'paid' | 'notifications') =>
    ({ projectId, accountId }: PaidRoute) =>
      egress.within(upstreamAllow.of(projectId)).dispatcherFor(`${accountId} ${use}`);
  const settlements = new Map(rails.map((rail) => [rail.network.id, settlementOn(rail, metrics)] as const));
  const settler = createSettler({ ledger, settlements, log, now });
  const streamPaid = createStreamPaid({ ledger, dispatcherOf: dispatcherFor('paid'), signer, log, now });
  const repeat = createRepeat({ ledger, settler, streamPaid, rateLimitNow: options.rateLimitNow });
  const verify = createVerify({ ledger, settlements, log, now });
  const callPaid = createCallPaid({ ledger, dispatcherOf: dispatcherFor('paid'), signer, log, now });
  const pay = createPay({
    ledger,
    verify,
    callPaid,
    settler,
    streamPaid,
    repeat,
    isOpen,
    isOnHold,
    log,
    now,
    ...(metrics && { onStep: metrics.onStep }),
  });
  const recovery = createRecovery({ ledger, settler, log, isOnHold });
  recovery.start();
  const [dispatcherOfFree, dispatcherOfNotifications] = [dispatcherFor('free'), dispatcherFor('notifications')];
  const free = createCallFree({
    // Streams that stay open for minutes don't take the connections of other requests.
    dispatcherOf: (request) =>
      (isNotificationStream(request) ? dispatcherOfNotifications : dispatcherOfFree)(request.route),
    rateLimiter,
    log,
    onOutcome: metrics?.onFreeRequest,
  });
  const responseMemory = createResponseMemory(options.responseMemory);
  const { run, settled } = untilSettled(pay);
  const served = {
    routes,
    pay: run,
    free,
    badPayments: createBadPayments(rateLimiter, {
      check: (projectId, address) => ledger.checkFailures(projectId, address),
      countAddress: (projectId, address) => ledger.countFailureOf(projectId, address),
    }),
    lookups: createLookups(options.poolSize),
    responseMemory,
    callSlots: createCallSlots(options.maxCallsPerAddress),
    notificationStreams: createNotificationStreams(),
    messageLimit: createMessageLimit(options.rateLimitNow),
    responsePacing,
    now,
    paymentRequiredCache,
    details,
    documentsOf,
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

function settlementOn({ network, facilitator, transport }: PaymentRail, metrics?: GatewayMetrics) {
  return {
    facilitator: metrics ? measureFacilitator(facilitator, metrics.onFacilitatorCall) : facilitator,
    chain: createChain({ network, transport }),
  };
}

/**
 * Keeps track of payments until they end. A payment continues after its buyer disconnects, so it may still be running
 * when the server has closed.
 */
function untilSettled(pay: GatewayOptions['pay']) {
  const running = new Set<Promise<unknown>>();
  return {
    run(request: PaidRequest): Promise<PaidResponse> {
      const response = pay(request);
      const ended = endOf(response).finally(() => running.delete(ended));
      running.add(ended);
      return response;
    },
    settled: () => Promise.all(running),
  };
}
