import type { Logger } from 'pino';
import { recordAudit } from '../../../audit/record.ts';
import type { Viewer } from '../../../auth/viewer.ts';
import { type Bus, topics } from '../../../bus/bus.ts';
import type { Database } from '../../../database/client.ts';
import { runStatement, statement } from '../../../database/statement.ts';
import type { HostClaim } from '../../../generated/prisma/client.ts';
import { DELETED_USER_ID } from '../../deletions/soft-delete.ts';
import { DEVELOPMENT_HOST } from '../gateway-host.ts';
import { queueForHosts } from '../host-names.ts';
import { activateHost, holderOf, LOST_AFTER_DAYS, loseHost, NotActivated } from './claims.ts';
import type { HostProver, Proof } from './proof.ts';

export type DueClaim = Pick<HostClaim, 'projectId' | 'host' | 'token' | 'verifiedAt'>;

type Failure = Exclude<Proof, { outcome: 'proved' }>;

const AT_ONCE = 10;
/**
 * The remaining checks are for other accounts. If all of an account's hosts are due at the same time, they are checked
 * over several rounds.
 */
const AT_ONCE_PER_ACCOUNT = 2;
/** A round ends after this many hosts, so that other periodic work isn't held up. */
const MAX_PER_ROUND = 50;
/** Failures that may be temporary count against the host only after they have lasted this long. */
const UNKNOWN_FOR_DAYS = 2;
/** A host that was never verified is checked hourly for the first few days, and then daily until the last day. */
const PENDING_DAYS = { hourly: 3, daily: 30 };

/** Spreads out the checks of hosts that were set at the same time. */
const after = (interval: string) => `statement_timestamp() + interval '${interval}' * (0.9 + 0.2 * random())`;

/** What to store after a daily check that succeeded. */
const RECORD_PROVED = statement(
  'host-claim-record-proved',
  `
  UPDATE "HostClaim" SET
    "lastCheckedAt" = statement_timestamp(), "lastProvedAt" = statement_timestamp(), "failingSince" = NULL,
    "problem" = NULL, "nextCheckAt" = ${after('1 day')}
  WHERE "projectId" = $1 AND "host" = $2`,
);

/** What to store after a daily check that failed. A failing host is checked every hour. */
const RECORD_FAILED = statement(
  'host-claim-record-failed',
  `
  UPDATE "HostClaim" SET
    "lastCheckedAt" = statement_timestamp(), "problem" = $3,
    "failingSince" = CASE
      WHEN $4 = 'blocked' THEN "failingSince"
      WHEN $4 = 'missing' OR "lastProvedAt" <= statement_timestamp() - interval '${UNKNOWN_FOR_DAYS} days'
        THEN coalesce("failingSince", statement_timestamp())
      ELSE "failingSince" END,
    "nextCheckAt" = CASE WHEN $4 = 'blocked' THEN ${after('1 day')} ELSE ${after('1 hour')} END
  WHERE "projectId" = $1 AND "host" = $2
  RETURNING "failingSince" <= statement_timestamp() - interval '${LOST_AFTER_DAYS} days' AS "isOver"`,
);

const RECORD_PENDING = statement(
  'host-claim-record-pending',
  `
  UPDATE "HostClaim" SET
    "lastCheckedAt" = statement_timestamp(), "problem" = $3,
    "nextCheckAt" = CASE
      WHEN "claimedAt" > statement_timestamp() - interval '${PENDING_DAYS.hourly} days' THEN ${after('1 hour')}
      WHEN "claimedAt" > statement_timestamp() - interval '${PENDING_DAYS.daily} days' THEN ${after('1 day')} END
  WHERE "projectId" = $1 AND "host" = $2`,
);

/** Hosts that were set by a process running the previous version. They count as verified, as in the migration. */
const ADOPT = statement(
  'host-claim-adopt',
  `
  INSERT INTO "HostClaim" ("projectId", "host", "token", "verifiedAt", "lastProvedAt", "nextCheckAt")
  SELECT p."id", p."gatewayHost", replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''),
    statement_timestamp(), statement_timestamp(), ${after('1 day')}
  FROM "Project" p
  WHERE p."gatewayHost" IS NOT NULL AND p."userId" <> '${DELETED_USER_ID}'
    AND NOT EXISTS (SELECT FROM "HostClaim" c WHERE c."projectId" = p."id" AND c."host" = p."gatewayHost")
  ON CONFLICT DO NOTHING`,
);

/**
 * Accounts take turns. The next check is scheduled before this one runs, so no other process checks the host, and this
 * check isn't repeated after a crash.
 */
const CLAIM_DUE = statement(
  'host-claim-claim-due',
  `
  WITH ranked AS MATERIALIZED (
    SELECT c."projectId", c."host", row_number() OVER (PARTITION BY p."userId" ORDER BY c."nextCheckAt") AS "round"
    FROM "HostClaim" c JOIN "Project" p ON p."id" = c."projectId"
    WHERE c."nextCheckAt" <= statement_timestamp() AND ($2 OR c."host" !~ $3)
  ),
  due AS MATERIALIZED (
    SELECT c."projectId", c."host" FROM "HostClaim" c JOIN ranked USING ("projectId", "host")
    WHERE c."nextCheckAt" <= statement_timestamp() AND "round" <= ${AT_ONCE_PER_ACCOUNT}
    ORDER BY "round", c."nextCheckAt" LIMIT $1 FOR UPDATE OF c SKIP LOCKED
  )
  UPDATE "HostClaim" c SET "nextCheckAt" = ${after('1 hour')}
  FROM due WHERE c."projectId" = due."projectId" AND c."host" = due."host"
  RETURNING c."projectId", c."host", c."token", c."verifiedAt"`,
);

export type HostChecker = ReturnType<typeof createHostChecker>;

/**
 * Checks whether owners can still prove that they own their hosts: daily for hosts that are served, and more often for
 * hosts that aren't verified yet.
 */
export function createHostChecker(options: {
  db: Pick<Database, 'prisma' | 'pool'>;
  bus: Pick<Bus, 'publish'>;
  prover: HostProver;
  production: boolean;
  log: Pick<Logger, 'info' | 'warn'>;
}) {
  const { db, bus, prover, production, log } = options;
  const { pool } = db;

  /**
   * Checks one host and records the result.
   *
   * @param asker returns the person who requested the check, as of now, because a proof can take seconds to arrive. Throws
   *   if they may no longer verify the host. Only a requested check can take the host from another project.
   */
  async function check(claim: DueClaim, asker?: () => Promise<Viewer>): Promise<void> {
    const { projectId, host, token, verifiedAt } = claim;
    const proof = await prover.prove(host, token);
    if (proof.outcome !== 'proved') return fail(claim, proof);
    if (verifiedAt === null) {
      const problem = await activate(claim, asker, proof.by === 'DNS');
      if (problem !== undefined) return void (await runStatement(pool, RECORD_PENDING(projectId, host, problem)));
    }
    await runStatement(pool, RECORD_PROVED(projectId, host));
  }

  async function fail(claim: DueClaim, { outcome, problem }: Failure): Promise<void> {
    const { projectId, host, verifiedAt } = claim;
    if (verifiedAt === null) return void (await runStatement(pool, RECORD_PENDING(projectId, host, problem)));
    const { rows } = await runStatement<{ isOver: boolean | null }>(
      pool,
      RECORD_FAILED(projectId, host, problem, outcome),
    );
    if (!rows[0]?.isOver || outcome === 'blocked') return;
    await db.prisma.$transaction(async (tx) => {
      await queueForHosts(tx);
      await loseHost(tx, claim, `It couldn't be verified for ${LOST_AFTER_DAYS} days. ${problem}`);
    });
    log.info({ projectId, host }, 'a project lost its domain because it could no longer be verified');
    bus.publish(topics.gatewayHosts);
  }

  /** @returns why the project doesn't get the host, or undefined if it does. */
  async function activate(
    claim: DueClaim,
    asker: (() => Promise<Viewer>) | undefined,
    isProvedByDns: boolean,
  ): Promise<string | undefined> {
    const { projectId, host } = claim;
    const from = asker && isProvedByDns ? await displacedBy(claim) : undefined;
    const viewer = await asker?.();
    try {
      const isActive = await db.prisma.$transaction(async (tx) => {
        if (!(await activateHost(tx, claim, from))) return false;
        const changes = { gatewayHost: host };
        if (viewer)
          await recordAudit(tx, viewer, { action: 'project.host_verified', projectId, targetId: projectId, changes });
        return true;
      });
      if (!isActive) return 'A different domain was set.';
    } catch (error) {
      if (error instanceof NotActivated) return error.message;
      throw error;
    }
    log.info({ projectId, host }, 'a project verified its domain');
    bus.publish(topics.gatewayHosts);
    return undefined;
  }

  /** The project that still has the host even though its owner has removed the record. */
  async function displacedBy({ host }: DueClaim): Promise<string | undefined> {
    const projectId = await holderOf(db.prisma, host);
    if (projectId === undefined) return undefined;
    const held = await db.prisma.hostClaim.findUnique({ where: { projectId_host: { projectId, host } } });
    if (!held) return projectId;
    return (await prover.proveByDns(host, held.token)).outcome === 'missing' ? projectId : undefined;
  }

  return {
    check,

    /** Checks the hosts that are due. Any number of processes may do this at the same time. */
    async checkDue(): Promise<void> {
      await runStatement(pool, ADOPT());
      for (let done = 0; done < MAX_PER_ROUND; done += AT_ONCE) {
        const { rows } = await runStatement<DueClaim>(pool, CLAIM_DUE(AT_ONCE, production, DEVELOPMENT_HOST));
        await Promise.all(
          rows.map((claim) =>
            check(claim).catch((error) =>
              log.warn({ err: error, projectId: claim.projectId }, "couldn't check a host; will retry"),
            ),
          ),
        );
        if (rows.length === 0) return;
      }
    },
  };
}
