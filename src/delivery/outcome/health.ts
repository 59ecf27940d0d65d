import type { Logger } from 'pino';
import type { Queryable } from '../../database/client.ts';
import { runStatement, statement, statements } from '../../database/statement.ts';
import type { ClaimedDelivery } from '../model/claimed-delivery.ts';
import type { DeliveryOutcome, HealthEffect } from '../model/outcome.ts';
import { mayChangeWaiting } from '../queue/bulk-changes.ts';
import { changeWaiting, DESTINATIONS, type DestinationKind } from '../queue/held.ts';
import { RETRY_SCHEDULE_SECONDS } from '../send/retry-policy.ts';
import { disableLastingFailure, FAILING_LIMIT_SECONDS } from './lasting-failure.ts';
import { remember } from './memory.ts';
import { nextProbeAt, PROBE_SCHEDULE_SECONDS } from './probe-schedule.ts';
import type { PausedConnector } from './rejections.ts';

/**
 * The table and columns for each kind of destination. `address` and `credentials` show whether the destination's
 * address or credentials have changed since a delivery was sent. `recovered` lists other changes to make when a run of
 * failures ends.
 */
const KINDS = {
  webhook: { ...DESTINATIONS.webhook, address: '"url"', credentials: '"secretCredentials"', recovered: '' },
  connector: {
    ...DESTINATIONS.connector,
    address: '"secretConfig"',
    credentials: '"secretConfig"',
    recovered: ', "probeCount" = 0',
  },
} as const;

const forEachKind = <Name extends string>(name: Name, textOf: (kind: DestinationKind) => string) =>
  statements(name, ['webhook', 'connector'], textOf);

const CLEAR_FAILING = forEachKind(
  'destination-clear-failing',
  (kind) => `UPDATE ${KINDS[kind].table} SET "failingSince" = NULL, "circuitOpenUntil" = NULL${KINDS[kind].recovered}
    WHERE "id" = ANY($1) AND ("failingSince" IS NOT NULL OR "circuitOpenUntil" IS NOT NULL)`,
);

const MARK_FAILING = forEachKind(
  'destination-mark-failing',
  (kind) => `UPDATE ${KINDS[kind].table} SET "failingSince" = now() WHERE "id" = ANY($1) AND "failingSince" IS NULL`,
);

const OPEN_CIRCUITS = forEachKind(
  'destination-open-circuits',
  (kind) => `UPDATE ${KINDS[kind].table} s SET "circuitOpenUntil" = now() + make_interval(secs => open.seconds)
    FROM unnest($1::text[], $2::float8[]) AS open(id, seconds) WHERE s."id" = open.id`,
);

const DISABLE = forEachKind(
  'destination-disable',
  (kind) => `UPDATE ${KINDS[kind].table} s
    SET "isActive" = false, "disabledReason" = gone.reason, "disabledAt" = now(), "updatedAt" = now()
    FROM unnest($1::text[], $2::text[], $3::text[]) AS gone(id, reason, address)
    WHERE s."id" = gone.id AND s."isActive" AND s.${KINDS[kind].address} = gone.address
    RETURNING s."id", s."projectId", gone.reason`,
);

const pausing = (kind: DestinationKind, probed = '') => `
  UPDATE ${KINDS[kind].table} s SET "pausedReason" = refused.reason, "pausedAt" = now(), "updatedAt" = now()${probed}
  FROM unnest($1::text[], $2::text[], $3::text[]) AS refused(id, reason, credentials)
  WHERE s."id" = refused.id AND s."pausedAt" IS NULL AND s.${KINDS[kind].credentials} = refused.credentials
  RETURNING s."id", s."projectId", refused.reason`;
const PAUSE_WEBHOOK = statement('webhook-pause', pausing('webhook'));
const PAUSE_CONNECTOR = statement(
  'connector-pause',
  pausing('connector', `, "nextProbeAt" = ${nextProbeAt('$4', 's."probeCount"')}`),
);

type Changed = { id: string; projectId: string; reason: string };

export type HealthOptions = {
  db: Queryable;
  log: Logger;
  /** Whether connectors of a type can check their credentials without sending anything. */
  canProbe?: (type: string) => boolean;
  failingLimitSeconds?: number;
  /** The number of retries after which a delivery has failed. */
  retriesOf?: (delivery: ClaimedDelivery) => number;
  /** How many more seconds a destination's circuit stays open; 0 when it is closed. */
  circuitOpenSeconds?: (id: string) => number;
};

/**
 * Tracks the health of webhooks and connectors: how long they have been failing, and whether a response has disabled
 * or paused them.
 */
export function createHealth({
  db,
  log,
  canProbe = () => false,
  failingLimitSeconds = FAILING_LIMIT_SECONDS,
  retriesOf = () => RETRY_SCHEDULE_SECONDS.length,
  circuitOpenSeconds = () => 0,
}: HealthOptions) {
  // Destinations that this process has marked as failing. Deliveries that were claimed earlier don't reflect that.
  const marked = new Set<string>();
  // Makes one change at a time so that enough connections are left for claims and results.
  let changes: Promise<void> = Promise.resolve();

  /** Applies a batch of outcomes. Safe to retry. */
  async function apply(outcomes: readonly DeliveryOutcome[]): Promise<void> {
    await remember(db, outcomes);
    const byDestination = Map.groupBy(
      outcomes.filter(({ health }) => health !== null),
      ({ delivery }) => delivery.destination,
    );
    for (const kind of ['webhook', 'connector'] as const) await applyKind(kind, byDestination);
  }

  async function applyKind(kind: DestinationKind, byDestination: Map<string, DeliveryOutcome[]>): Promise<void> {
    const groups = [...byDestination.values()].filter(([first]) => first!.delivery[kind] !== null);
    const has = (group: DeliveryOutcome[], wanted: HealthEffect['kind']) =>
      group.some(({ health }) => health?.kind === wanted);
    const idOf = (group: DeliveryOutcome[]) => group[0]!.delivery.destination;
    const wasFailing = (group: DeliveryOutcome[]) => group.some(({ delivery }) => delivery[kind]?.isFailing);

    const healthy = groups.filter((group) => has(group, 'healthy'));
    await clearFailing(kind, healthy.filter((group) => wasFailing(group) || marked.has(idOf(group))).map(idOf));
    const failing = groups.filter((group) => has(group, 'failing') && !has(group, 'healthy'));
    // Destinations that this process has already marked are marked again, because someone may have cleared their
    // failures in the meantime.
    await markFailing(kind, failing.filter((group) => !wasFailing(group)).map(idOf));
    for (const group of failing) await disableFailing(kind, idOf(group), group);
    await openCircuits(kind, failing.map(idOf));

    await disable(kind, groups.flat());
    await pause(kind, groups.flat());
  }

  async function clearFailing(kind: DestinationKind, ids: string[]): Promise<void> {
    if (ids.length === 0) return;
    await runStatement(db, CLEAR_FAILING[kind](ids));
    for (const id of ids) marked.delete(id);
  }

  async function markFailing(kind: DestinationKind, ids: string[]): Promise<void> {
    if (ids.length === 0) return;
    await runStatement(db, MARK_FAILING[kind](ids));
    for (const id of ids) marked.add(id);
  }

  /** Stores open circuits so that the other processes and the API can see them. */
  async function openCircuits(kind: DestinationKind, ids: string[]): Promise<void> {
    const open = ids.map((id) => ({ id, seconds: circuitOpenSeconds(id) })).filter(({ seconds }) => seconds > 0);
    if (open.length === 0) return;
    const ofEach = [open.map(({ id }) => id), open.map(({ seconds }) => seconds)] as const;
    await runStatement(db, OPEN_CIRCUITS[kind](...ofEach));
  }

  async function disableFailing(kind: DestinationKind, id: string, group: readonly DeliveryOutcome[]): Promise<void> {
    const givenUp = group.filter(({ status, health }) => status === 'FAILED' && health?.kind === 'failing');
    if (givenUp.length === 0) return;
    const options = { db, failingLimitSeconds, retries: retriesOf(givenUp[0]!.delivery) };
    const ids = givenUp.map(({ delivery }) => delivery.id);
    const projectId = await disableLastingFailure(options, kind, id, ids);
    if (projectId !== undefined) onDisabled(kind, id, projectId, 'failing');
  }

  /** Disables all of them with one statement, as `pause` does, because an account can have thousands, and results wait for this. */
  async function disable(kind: DestinationKind, outcomes: readonly DeliveryOutcome[]): Promise<void> {
    const gone = outcomes.flatMap(({ delivery, health }) => (health?.kind === 'disable' ? [{ delivery, health }] : []));
    if (gone.length === 0) return;
    const ids = gone.map(({ delivery }) => delivery.destination);
    const reasons = gone.map(({ health }) => health.reason);
    // If the destination's address has changed, nothing is disabled, because the response came from the old one.
    const addresses = gone.map(({ delivery }) => delivery.webhook?.url ?? delivery.connector?.secretConfig ?? null);
    const { rows } = await runStatement<Changed>(db, DISABLE[kind](ids, reasons, addresses));
    for (const { id, projectId, reason } of rows) onDisabled(kind, id, projectId, reason);
  }

  function onDisabled(kind: DestinationKind, id: string, projectId: string, reason: string): void {
    marked.delete(id);
    log.warn({ [`${kind}Id`]: id, projectId, reason }, `${kind} disabled`);
    changeLater(kind, id, async () => {
      while (await changeWaiting(db, kind, id, 'skip'));
    });
  }

  /**
   * Changes the deliveries that are waiting for a destination. Results don't wait for this. Nothing is lost if it fails,
   * because each delivery is checked again when it is claimed.
   */
  function changeLater(kind: DestinationKind, id: string, change: () => Promise<void>): void {
    changes = changes.then(change).catch((error) => {
      log.warn(
        { err: error, [`${kind}Id`]: id },
        "couldn't update waiting deliveries; they will be updated when they are claimed",
      );
    });
  }

  async function pause(kind: DestinationKind, outcomes: readonly DeliveryOutcome[]): Promise<void> {
    const refused = outcomes.flatMap(({ delivery, health }) =>
      health?.kind === 'pause' ? [{ delivery, health }] : [],
    );
    const mayProbe = ({ delivery }: (typeof refused)[number]) => canProbe(delivery.connector?.type ?? '');
    for (const [isProbed, group] of Map.groupBy(refused, mayProbe)) {
      const ids = group.map(({ delivery }) => delivery.destination);
      const reasons = group.map(({ health }) => health.reason);
      const credentials = group.map(({ delivery: { webhook, connector } }) => {
        return connector?.secretConfig ?? webhook?.secretCredentials ?? null;
      });
      const paused =
        kind === 'connector'
          ? PAUSE_CONNECTOR(ids, reasons, credentials, isProbed ? PROBE_SCHEDULE_SECONDS : [])
          : PAUSE_WEBHOOK(ids, reasons, credentials);
      const { rows } = await runStatement<Changed>(db, paused);
      for (const row of rows) onPaused(kind, row);
    }
  }

  /** Holds deliveries that are waiting for a paused destination, but only one batch, because pauses can be repeated. */
  function onPaused(kind: DestinationKind, { id, projectId, reason }: PausedConnector): void {
    log.warn({ [`${kind}Id`]: id, projectId, reason }, `${kind} paused`);
    changeLater(kind, id, async () => {
      if (await mayChangeWaiting(db, projectId)) await changeWaiting(db, kind, id, 'hold');
    });
  }

  return { apply, onPaused };
}
