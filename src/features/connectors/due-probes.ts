import type pg from 'pg';
import type { Logger } from 'pino';
import { type Bus, topics } from '../../bus/bus.ts';
import type { ProbeResult } from '../../connectors/definition.ts';
import { findConnector } from '../../connectors/types/registry.ts';
import { runStatement, statement } from '../../database/statement.ts';
import { blockedSecondsOf } from '../../delivery/flow/circuits.ts';
import { nextProbeAt, PROBE_SCHEDULE_SECONDS } from '../../delivery/outcome/probe-schedule.ts';
import { releaseHeld } from '../../delivery/queue/held.ts';
import type { ConnectorProbe } from '../../delivery/send/probe-connector.ts';
import type { Connector } from '../../generated/prisma/client.ts';
import type { SecretBox } from '../../secrets/secret-box.ts';

export type DueProbesOptions = {
  bus: Bus;
  secretBox: Pick<SecretBox, 'open'>;
  probe: ConnectorProbe;
  connectors?: typeof findConnector;
  log: Logger;
};

type Paused = Pick<Connector, 'id' | 'projectId' | 'type' | 'secretConfig' | 'pausedAt'>;

const AT_ONCE = 10;

/**
 * Creates the function that probes the connectors that are due, and resumes those whose credentials work again. Each
 * probe is sent by only one process. It is counted before it is sent, so that it isn't repeated if the process dies.
 * Vendors that are blocking this service get no probes in the meantime.
 */
export function createDueProbes({ bus, secretBox, probe, connectors = findConnector, log }: DueProbesOptions) {
  return async function sendDueProbes(pool: pg.Pool): Promise<void> {
    for (;;) {
      const due = await claimDue(pool);
      await Promise.all(due.map((connector) => probeOne(pool, connector)));
      if (due.length < AT_ONCE) return;
    }
  };

  async function probeOne(pool: pg.Pool, connector: Paused): Promise<void> {
    const { id, projectId } = connector;
    try {
      const result = await send(connector);
      if (!result?.ok) return log.debug({ connectorId: id, projectId }, 'the probe of a paused connector failed again');
      if (!(await resume(pool, connector))) return;
      log.info({ connectorId: id, projectId }, 'connector resumed');
      await releaseHeld(pool, id);
      bus.publish(topics.deliveriesDue);
      bus.publish(topics.deliveries(projectId));
    } catch (error) {
      log.warn(
        { err: error, connectorId: id, projectId },
        "couldn't probe a paused connector; it will be probed again",
      );
    }
  }

  async function send(connector: Paused): Promise<ProbeResult | undefined> {
    const { id, projectId, type, secretConfig } = connector;
    const definition = connectors(type);
    const cell = { table: 'Connector', column: 'secretConfig', rowId: id, projectId };
    return definition && probe(connector, definition, JSON.parse(secretBox.open(secretConfig, cell)));
  }
}

async function claimDue(pool: pg.Pool): Promise<Paused[]> {
  const { rows } = await runStatement<Paused>(pool, CLAIM_DUE(AT_ONCE, PROBE_SCHEDULE_SECONDS));
  return rows;
}

const RESUME = statement(
  'connector-resume',
  `UPDATE "Connector" SET
     "pausedReason" = NULL, "pausedAt" = NULL, "nextProbeAt" = NULL,
     "failingSince" = coalesce("failingSince", now()), "circuitOpenUntil" = NULL, "updatedAt" = now()
   WHERE "id" = $1 AND "pausedReason" IS NOT NULL AND "pausedAt" = $2 AND "secretConfig" = $3 AND "isActive"`,
);

/**
 * Ends the pause that triggered the probe, but not a later pause or one started by the owner. Until a delivery
 * succeeds, the connector counts as failing, and the number of probes is kept. As a result, if deliveries are rejected
 * even though this probe succeeded, the next probe isn't sent any sooner.
 *
 * @returns whether the connector was resumed.
 */
async function resume(pool: pg.Pool, { id, pausedAt, secretConfig }: Paused): Promise<boolean> {
  const { rowCount } = await runStatement(pool, RESUME(id, pausedAt, secretConfig));
  return rowCount === 1;
}

const CLAIM_DUE = statement(
  'connector-probe-claim-due',
  `UPDATE "Connector" SET
     "probeCount" = "probeCount" + 1, "nextProbeAt" = ${nextProbeAt('$2', '"probeCount" + 1')}
   WHERE "id" = ANY(ARRAY(
     SELECT "id" FROM "Connector" WHERE "nextProbeAt" <= now() AND "isActive" AND ${blockedSecondsOf('"type"')} IS NULL
     ORDER BY "nextProbeAt" LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED
   ))
   RETURNING "id", "projectId", "type", "secretConfig", "pausedAt"`,
);
