import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type Bus, topics } from '../bus/bus.ts';
import type { OauthApps } from '../config/oauth-apps.ts';
import type { ConnectorDefinition } from '../connectors/definition.ts';
import type { Database } from '../database/client.ts';
import type { Egress } from '../egress/egress.ts';
import type { PayloadVersions } from '../events/versions.ts';
import type { SecretBox } from '../secrets/secret-box.ts';
import { inSpan } from '../tracing/tracer.ts';
import { createWakeSignal } from '../wake-signal.ts';
import { DELIVERY_DEFAULTS, type DeliverySettings } from './delivery-settings.ts';
import { type Admission, createAdmission } from './flow/admission.ts';
import type { ClaimedDelivery, SendResult, Verdict } from './model/claimed-delivery.ts';
import type { DeliveryMetrics } from './model/delivery-metrics.ts';
import type { DeliveryOutcome } from './model/outcome.ts';
import { createHealth } from './outcome/health.ts';
import { judgeTogether } from './outcome/judge.ts';
import { createRecorder } from './outcome/recorder.ts';
import { createReporter } from './outcome/reporter.ts';
import { createClaimLoop } from './queue/claim-loop.ts';
import { createLeases } from './queue/leases.ts';
import { createMaintenance } from './queue/maintenance.ts';
import { releaseLeases } from './queue/queue.ts';
import { createWorkerRegistry } from './queue/worker-registry.ts';
import { createWithAccessToken, createWithToken } from './send/access-tokens.ts';
import { createEndpointHistory } from './send/endpoint-history.ts';
import { failedTry } from './send/failed-tries.ts';
import { type Job, planJobs, spanOf } from './send/jobs.ts';
import { createResendReader } from './send/resends.ts';
import { retryScheduleOf } from './send/retry-policy.ts';
import { createConnectorSender } from './send/send-connector.ts';
import { createWebhookSender } from './send/send-webhook.ts';

export type DeliveryWorkerOptions = {
  db: Pick<Database, 'pool'>;
  egress: Pick<Egress, 'send'>;
  /** The egress for a project's webhooks and their token requests. Defaults to `egress`. */
  webhookEgress?: (projectId: string) => Pick<Egress, 'send'>;
  secretBox: Pick<SecretBox, 'open' | 'seal'>;
  bus: Bus;
  connectors: (type: string) => ConnectorDefinition | undefined;
  log: Logger;
  metrics?: DeliveryMetrics;
  /** Whether nothing may be sent now. */
  isOnHold?: () => boolean;
  /** The operator's OAuth apps. */
  oauthApps?: OauthApps;
  /** Defaults to all versions. */
  payloadVersions?: PayloadVersions;
  settings: Partial<DeliverySettings> & Pick<DeliverySettings, 'version'>;
};

export type DeliveryWorker = {
  start(): void;
  /** Stops claiming, waits for deliveries in flight, and releases the leases of those that don't finish in time. */
  stop(): Promise<void>;
  stats(): { inFlight: number; failingDestinations: number; attempts: number; delivered: number; failed: number };
};

/**
 * Sends webhooks and connector calls. Every delivery goes through the same pipeline: claimed → planned → admitted →
 * sent → judged → recorded. It is claimed under a lease, sent outside any transaction, and recorded in batches.
 * Delivery is at-least-once: a process that is killed loses its leases, not its deliveries.
 */
export function createDeliveryWorker(options: DeliveryWorkerOptions): DeliveryWorker {
  const { db, egress, secretBox, bus, log, metrics, payloadVersions, isOnHold = () => false } = options;
  const settings: DeliverySettings = { ...DELIVERY_DEFAULTS, ...options.settings };
  const { leaseSeconds, retryScheduleSeconds, quickRetries, timeoutMilliseconds, consoleUrl, isLocalChain } = settings;
  const scheduleOf = ({ webhook }: ClaimedDelivery, definition?: ConnectorDefinition) =>
    retryScheduleOf({ webhook, definition }, retryScheduleSeconds);

  const jobs = new Set<Promise<void>>();
  // One controller per request, because adding a listener to a signal that already has a thousand is slow.
  const requests = new Set<AbortController>();
  let isStopping = false;
  let isAbandoned = false;

  const signal = createWakeSignal(settings.pollMilliseconds);
  const leases = createLeases<ClaimedDelivery>({ db: db.pool, leaseSeconds });
  const admission = createAdmission({
    db: db.pool,
    log,
    limits: settings,
    slotsInUse: leases.count,
    signal,
    onReopened: () => bus.publish(topics.paces),
  });
  const registry = createWorkerRegistry(db.pool);
  const claimLoop = createClaimLoop({
    pool: db.pool,
    log,
    admission,
    leases,
    signal,
    metrics,
    settings,
    isOwnTurn: registry.isOwnTurn,
    isOnHold,
  });
  const maintenance = createMaintenance({
    pool: db.pool,
    leases,
    registry,
    signal,
    log,
    onPaces: claimLoop.onPaces,
  });
  const reporter = createReporter({ log, metrics });
  const health = createHealth({
    db: db.pool,
    log,
    failingLimitSeconds: settings.failingLimitSeconds,
    canProbe: (type) => options.connectors(type)?.probe !== undefined,
    retriesOf: (delivery) =>
      scheduleOf(delivery, delivery.connector ? options.connectors(delivery.connector.type) : undefined).length,
    circuitOpenSeconds: admission.circuitOpenSeconds,
  });
  const recorder = createRecorder({ pool: db.pool, health, log, metrics });
  const userAgent = `Tollgate/${settings.version}`;
  const { webhookEgress = () => egress } = options;
  const senderOptions = { secretBox, log, timeoutMilliseconds, quickRetries, userAgent };
  const jobOptions = {
    sendWebhook: createWebhookSender({
      ...senderOptions,
      egressOf: webhookEgress,
      ...(payloadVersions && { payloadVersions }),
      withAccessToken: createWithAccessToken(
        { pool: db.pool, egressOf: webhookEgress, secretBox, userAgent },
        'webhook',
      ),
    }),
    sendToConnector: createConnectorSender({
      ...senderOptions,
      egress,
      isLocalChain,
      ...(consoleUrl && { consoleUrl }),
      withToken: createWithToken({
        pool: db.pool,
        egressOf: () => egress,
        secretBox,
        userAgent,
        ...(options.oauthApps && { oauthApps: options.oauthApps }),
      }),
      readHistory: createEndpointHistory(db.pool),
      readLastResend: createResendReader(db.pool),
    }),
    findConnector: options.connectors,
  };

  let subscriptions: (() => void)[] = [];
  let delivering: Promise<void> = Promise.resolve();

  async function deliver(): Promise<void> {
    for await (const claimed of claimLoop.claims()) {
      if (isStopping) {
        await giveBack(claimed, null);
        continue;
      }
      leases.add(claimed);
      admission.take(claimed);
      const planned = planJobs(claimed, jobOptions);
      const admissions = admission.admit(planned);
      for (const [index, job] of planned.entries()) start(job, admissions[index]!);
    }
  }

  function start(job: Job, admitted: Promise<Admission>): void {
    const running = carryOut(job, admitted)
      .catch((error) => log.error({ err: error }, "couldn't report a delivery"))
      .finally(() => jobs.delete(running));
    jobs.add(running);
  }

  async function carryOut(job: Job, admitted: Promise<Admission>): Promise<void> {
    const decision = await admitted;
    if (decision === 'closed' || isAbandoned) return;
    if (isOnHold() || !job.deliveries.every(leases.isSure)) return letGo(job);
    const results = decision === 'go' ? await send(job) : job.deliveries.map(() => notSent(decision));
    if (isAbandoned) return;
    const outcomes = judgeTogether(job.deliveries, results, scheduleOf(job.deliveries[0]!, job.definition));
    const recording = recorder.record(outcomes);
    // Jobs that were waiting for a destination that is now paused or disabled are recorded after this one.
    admission.leave(job, outcomes);
    claimLoop.onFreed(outcomes.length);
    for (const outcome of outcomes) reporter.report(outcome);
    const { isPaused } = await recording;
    if (isPaused) admission.putBackWaiting(job.deliveries[0]!.destination);
    finish(outcomes);
  }

  async function send(job: Job): Promise<SendResult[]> {
    const controller = new AbortController();
    requests.add(controller);
    const control = {
      mayRetry: () => !isStopping && !isOnHold() && admission.mayRetry(job),
      nextSlot: () => admission.nextSlot(job),
      signal: controller.signal,
    };
    try {
      return await inSpan(
        'delivery',
        () => spanOf(job),
        () => job.send!(control),
      );
    } catch (error) {
      return job.deliveries.map((delivery) => ourFault(error, delivery));
    } finally {
      requests.delete(controller);
    }
  }

  function ourFault(error: unknown, delivery: ClaimedDelivery): SendResult {
    const { attempt, verdict } = failedTry(error, { startedAt: delivery.databaseTime(), delivery, log });
    return { attempts: attempt ? [attempt] : [], verdict };
  }

  function finish(outcomes: readonly DeliveryOutcome[]): void {
    const deliveries = outcomes.map(({ delivery }) => delivery);
    leases.release(deliveries);
    admission.freeShares(deliveries);
    for (const projectId of new Set(outcomes.map(({ delivery }) => delivery.projectId))) {
      bus.publish(topics.deliveries(projectId));
    }
    // Deliveries that waited for their turn are now due.
    if (outcomes.some(({ delivery }) => delivery.orderingKey !== null)) bus.publish(topics.deliveriesDue);
    const waits = outcomes.flatMap(({ dueInSeconds }) => dueInSeconds ?? []);
    if (waits.length > 0) signal.notifyIn(Math.min(...waits) * 1000);
    const parked = outcomes.flatMap(({ delivery, isParked }) => (isParked ? delivery : []));
    if (parked.length > 0) claimLoop.onParked(parked);
    claimLoop.onFreed(0);
  }

  /**
   * Abandons a job because nothing may be sent now, or because its leases may have expired, and another process may have
   * claimed its deliveries.
   */
  function letGo(job: Job): void {
    leases.release(job.deliveries);
    admission.leave(job, []);
    admission.freeShares(job.deliveries);
    claimLoop.onFreed(job.deliveries.length);
  }

  async function giveBack(deliveries: ClaimedDelivery[], errorClass: 'interrupted' | null): Promise<void> {
    if (deliveries.length === 0) return;
    leases.release(deliveries);
    await releaseLeases(db.pool, deliveries, errorClass).catch((error) =>
      log.warn({ err: error, deliveries: deliveries.length }, "couldn't release leases; they will expire"),
    );
  }

  async function finishJobs(milliseconds: number): Promise<void> {
    const timeout = new AbortController();
    const timer = sleep(milliseconds, undefined, { signal: timeout.signal }).catch(() => {});
    await Promise.race([Promise.all(jobs), timer]);
    timeout.abort();
  }

  async function stop(): Promise<void> {
    isStopping = true;
    maintenance.stop();
    for (const unsubscribe of subscriptions) unsubscribe();
    claimLoop.stop();
    await Promise.all([giveBack(admission.close(), null), delivering]);
    await finishJobs(settings.drainMilliseconds);
    const left = leases.all();
    isAbandoned = true;
    recorder.abandon();
    for (const controller of requests) controller.abort();
    const maintained = maintenance.end();
    if (left.length > 0)
      log.warn({ deliveries: left.length }, 'stopped with deliveries in flight; they will be sent again');
    await giveBack(left, 'interrupted');
    await admission.endAll();
    await maintained;
    await registry.leave().catch(() => {});
  }

  return {
    start() {
      subscriptions = [
        bus.subscribe(topics.deliveriesDue, claimLoop.onHint),
        bus.subscribe(topics.paces, claimLoop.onPaces),
      ];
      delivering = deliver();
      maintenance.start();
    },
    stop,
    stats: () => ({
      inFlight: leases.count(),
      failingDestinations: admission.brokenCount(),
      ...reporter.counts(),
    }),
  };
}

const notSent = (verdict: Verdict): SendResult => ({ attempts: [], verdict });
