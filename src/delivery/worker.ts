import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type Bus, topics } from '../bus/bus.ts';
import type { ConnectorDefinition } from '../connectors/definition.ts';
import type { Database } from '../database/client.ts';
import type { Egress } from '../egress/egress.ts';
import type { PayloadVersions } from '../events/versions.ts';
import type { SecretBox } from '../secrets/secret-box.ts';
import { inSpan } from '../tracing/tracer.ts';
import { DELIVERY_DEFAULTS, type DeliverySettings } from './delivery-settings.ts';
import { createCircuits } from './flow/circuits.ts';
import { createDestinations } from './flow/destinations.ts';
import { createDispatch } from './flow/dispatch.ts';
import { recheckWaiting } from './flow/ordering.ts';
import { createPacing } from './flow/pacing.ts';
import { createShares } from './flow/shares.ts';
import type { ClaimedDelivery, SendResult } from './model/claimed-delivery.ts';
import type { Settlement } from './model/outcome.ts';
import { createHealth } from './outcome/health.ts';
import { createRecorder } from './outcome/recorder.ts';
import { createReporter, type DeliveryMetrics } from './outcome/reporter.ts';
import { settle } from './outcome/settle.ts';
import { createClaimLoop } from './queue/claim-loop.ts';
import { createLeases } from './queue/leases.ts';
import { releaseLeases, releaseStranded } from './queue/queue.ts';
import { createEndpointHistory } from './send/endpoint-history.ts';
import { type Job, spanOf } from './send/jobs.ts';
import { createConnectorSender } from './send/send-connector.ts';
import { createWebhookSender, failedTry } from './send/send-webhook.ts';

export type DeliveryWorkerOptions = {
  db: Pick<Database, 'pool'>;
  egress: Pick<Egress, 'send'>;
  secretBox: Pick<SecretBox, 'open'>;
  bus: Bus;
  connectors: (type: string) => ConnectorDefinition | undefined;
  log: Logger;
  metrics?: DeliveryMetrics;
  /** Those there are, when not given. */
  payloadVersions?: PayloadVersions;
  settings: Partial<DeliverySettings> & Pick<DeliverySettings, 'version'>;
};

export type DeliveryWorker = {
  start(): void;
  /** Takes nothing new, lets what is in flight finish, and gives back the leases of what does not finish in time. */
  stop(): Promise<void>;
  stats(): { inFlight: number; failingDestinations: number; attempts: number; delivered: number; failed: number };
};

const MAINTENANCE_MILLISECONDS = 1_000;
const STRANDED_EVERY_ROUNDS = 10;

/**
 * Sends webhooks and connector calls: takes due deliveries under a lease, sends them outside any transaction, writes
 * what came of it in batches. At-least-once: a process that is killed loses its leases, not its deliveries.
 */
export function createDeliveryWorker(options: DeliveryWorkerOptions): DeliveryWorker {
  const { db, egress, secretBox, bus, log, metrics, payloadVersions } = options;
  const settings: DeliverySettings = { ...DELIVERY_DEFAULTS, ...options.settings };
  const { maxInFlight, leaseSeconds, retryScheduleSeconds, quickRetries, timeoutMilliseconds, consoleUrl } = settings;

  const leases = createLeases<ClaimedDelivery>({ db: db.pool, leaseSeconds });
  // One a job: a signal with a thousand listeners takes long to get another.
  const underWay = new Set<AbortController>();
  const maintenance = new AbortController();
  let isStopping = false;
  let isAbandoned = false;
  let onIdle = () => {};

  const circuits = createCircuits();
  const pacing = createPacing({ db: db.pool, log });
  const destinations = createDestinations(
    { ...settings, maxPerDestination: settings.maxPerDestination + settings.claimedAhead },
    [circuits],
    pacing,
  );
  const shares = createShares(settings);
  const inHand = [destinations, shares];
  const reporter = createReporter({ log, ...(metrics && { metrics }) });
  const health = createHealth({
    ...{ db: db.pool, log, failingLimitSeconds: settings.failingLimitSeconds, retryScheduleSeconds },
    circuitOpenSeconds: circuits.openSeconds,
  });
  const recorder = createRecorder({
    ...{ pool: db.pool, health, log, onRecorded },
    onPaused: (connectorId) => dispatch.putBackWaiting(connectorId),
    onError: () => metrics?.onQueueError('record'),
  });
  const senderOptions = {
    ...{ egress, secretBox, log, timeoutMilliseconds, quickRetries },
    userAgent: `Tollgate/${settings.version}`,
  };
  const jobOptions = {
    sendWebhook: createWebhookSender({ ...senderOptions, ...(payloadVersions && { payloadVersions }) }),
    sendToConnector: createConnectorSender({
      ...{ ...senderOptions, ...(consoleUrl && { consoleUrl }) },
      readHistory: createEndpointHistory(db.pool),
    }),
    findConnector: options.connectors,
  };
  const claimLoop = createClaimLoop({
    ...{ pool: db.pool, log, destinations, shares, settings },
    freeSlots: () => maxInFlight - leases.count(),
    // After a long pause of this process its own deliveries would look as if nobody had them.
    beforeClaim: leases.prolong,
    onClaimed,
    onClaim: (seconds) => metrics?.onClaim(seconds),
    onError: () => metrics?.onQueueError('claim'),
  });

  const { maxPerDestination } = settings;
  const dispatch = createDispatch({
    ...{ jobOptions, circuits, pacing, maxPerDestination, begin, letGo },
    isSure: leases.isSure,
    wakeIn: claimLoop.wakeIn,
  });

  let unsubscribe = () => {};
  let loops: Promise<unknown> = Promise.resolve();

  async function onClaimed(deliveries: ClaimedDelivery[]): Promise<void> {
    if (isStopping) return giveBack(deliveries, null);
    leases.hold(deliveries);
    for (const delivery of deliveries) for (const part of inHand) part.take(delivery);
    dispatch.take(deliveries);
  }

  function begin(job: Job): Promise<void> {
    return carryOut(job).catch((error) => log.error({ err: error }, 'a delivery could not be reported'));
  }

  async function carryOut(job: Job): Promise<void> {
    const controller = new AbortController();
    underWay.add(controller);
    const { destination } = job.deliveries[0]!;
    const isLimited = job.deliveries[0]!.maxPerSecond !== null;
    const mayRetry = () => !isStopping && !isLimited && !circuits.isBroken(destination);
    const results = await inSpan(
      'delivery',
      () => spanOf(job),
      () => job.run({ mayRetry, signal: controller.signal }),
    ).catch((error) => job.deliveries.map((delivery) => ourFault(error, delivery)));
    underWay.delete(controller);
    for (const delivery of job.deliveries) for (const part of inHand) part.free(delivery);
    if (isAbandoned) return;
    const random = Math.random();
    const settlements = job.deliveries.map((delivery, index) =>
      settle(delivery, results[index]!, retryScheduleSeconds, random),
    );
    recorder.add(settlements);
    if (settlements.some(({ health }) => health?.kind === 'disable' || health?.kind === 'pause')) {
      dispatch.putBackWaiting(destination);
    }
    claimLoop.onFreed(settlements.length);
    // A batch counts as one: its members succeed and fail together.
    if (settlements.some(({ health }) => health?.kind === 'healthy')) circuits.onHealthy(destination);
    else if (settlements.some(({ health }) => health?.kind === 'failing')) circuits.onFailure(destination);
    for (const settlement of settlements) {
      reporter.report(settlement);
    }
  }

  function ourFault(error: unknown, delivery: ClaimedDelivery): SendResult {
    const { attempt, verdict } = failedTry(error, { startedAt: delivery.databaseTime(), delivery, log });
    return { attempts: attempt ? [attempt] : [], verdict };
  }

  function onRecorded(settlements: readonly Settlement[]): void {
    leases.release(settlements.map(({ delivery }) => delivery));
    for (const projectId of new Set(settlements.map(({ delivery }) => delivery.projectId))) {
      bus.publish(topics.deliveries(projectId));
    }
    // What waited for its turn is due, for whoever has room.
    if (settlements.some(({ delivery }) => delivery.orderingKey !== null)) bus.publish(topics.deliveriesDue);
    const waits = settlements.flatMap(({ dueInSeconds }) => dueInSeconds ?? []);
    if (waits.length > 0) claimLoop.wakeIn(Math.min(...waits) * 1000);
    claimLoop.onFreed(0);
    if (leases.count() === 0) onIdle();
  }

  async function maintain(): Promise<void> {
    let released = 0;
    for (let round = 0; !isStopping || leases.count() > 0; round++) {
      try {
        await leases.prolong();
        // After a portion there may be more.
        if (!isStopping && (released > 0 || round % STRANDED_EVERY_ROUNDS === 0)) {
          released = (await releaseStranded(db.pool)) + (await recheckWaiting(db.pool));
          if (released > 0) claimLoop.wake();
        }
      } catch (error) {
        log.debug({ err: error }, 'the queue could not be maintained');
      }
      const pause = MAINTENANCE_MILLISECONDS * (0.75 + Math.random() / 2);
      await sleep(pause, undefined, { signal: maintenance.signal }).catch(() => {});
      if (isAbandoned) return;
    }
  }

  async function giveBack(deliveries: ClaimedDelivery[], errorClass: 'interrupted' | null): Promise<void> {
    await releaseLeases(db.pool, deliveries, errorClass).catch((error) =>
      log.warn({ err: error, deliveries: deliveries.length }, 'leases could not be given back; they end by themselves'),
    );
  }

  /** What has been claimed and not begun. */
  async function giveBackUnsent(deliveries: ClaimedDelivery[]): Promise<void> {
    letGo(deliveries);
    if (deliveries.length > 0) await giveBack(deliveries, null);
  }

  function letGo(deliveries: readonly ClaimedDelivery[]): void {
    leases.release(deliveries);
    for (const delivery of deliveries) for (const part of inHand) part.free(delivery);
    claimLoop.onFreed(deliveries.length);
    if (leases.count() === 0) onIdle();
  }

  async function idleWithin(milliseconds: number): Promise<void> {
    if (leases.count() === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    onIdle = resolve;
    const timer = setTimeout(resolve, milliseconds);
    await promise;
    clearTimeout(timer);
  }

  async function stop(): Promise<void> {
    isStopping = true;
    unsubscribe();
    claimLoop.stop();
    await Promise.all([giveBackUnsent(dispatch.clear()), claimLoop.finished()]);
    await idleWithin(settings.drainMilliseconds);
    const left = leases.all();
    isAbandoned = true;
    recorder.abandon();
    for (const controller of underWay) controller.abort();
    maintenance.abort();
    if (left.length > 0) {
      log.warn({ deliveries: left.length }, 'stopped with deliveries in flight; they will be sent again');
      await giveBack(left, 'interrupted');
    }
    await loops;
  }

  return {
    start() {
      unsubscribe = bus.subscribe(topics.deliveriesDue, claimLoop.wake);
      loops = Promise.all([claimLoop.run(), maintain()]);
    },
    stop,
    stats: () => ({
      ...{ inFlight: leases.count(), failingDestinations: circuits.brokenCount() },
      ...reporter.counts(),
    }),
  };
}
