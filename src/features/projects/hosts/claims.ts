import { sharedNow } from '../../../clock.ts';
import type { Transaction } from '../../../database/client.ts';
import { asReference } from '../../../database/reference.ts';
import { executeWithPrisma, runWithPrisma, statement } from '../../../database/statement.ts';
import { AppError } from '../../../errors.ts';
import { isDevelopmentHost } from '../gateway-host.ts';
import { lockHost, queueForHosts, refuseReserved, releaseHost, takeHost } from '../host-names.ts';
import { newHostToken } from './proof.ts';

/** A project's hosts: the one that the gateway serves, and the one that the owner has set but not verified yet. */
export type Hosts = { gatewayHost: string | null; claimedHost: string | null };

/** How long a host's verification may keep failing before the project loses the host. */
export const LOST_AFTER_DAYS = 7;

/** How long a new host has to wait after the last check of its account's hosts. Owners can request an earlier check. */
const PAUSE_MINUTES = 5;

/**
 * When the first check of account $1's new claim is due: immediately, or some minutes after the account's last check.
 * Otherwise, each change of a domain would cause a check. If a claim hasn't been checked yet, the time of its first
 * check counts, because the claim that it replaced, along with the time of its check, is deleted.
 */
const FIRST_CHECK_AT = statement(
  'host-claim-first-check',
  `
  SELECT greatest(statement_timestamp(), max(least(
    coalesce(c."lastCheckedAt" + interval '${PAUSE_MINUTES} minutes', c."nextCheckAt"),
    statement_timestamp() + interval '${PAUSE_MINUTES} minutes'
  ))) AS "at"
  FROM "Project" p JOIN "HostClaim" c ON c."projectId" = ${asReference('p."id"')} WHERE p."userId" = $1`,
);

/** The host, as the owner entered it. */
export const shownHost = ({ gatewayHost, claimedHost }: Hosts): string | null => claimedHost ?? gatewayHost;

/**
 * The columns to write when an owner sets a host. Until a host is verified, the project only claims it and keeps its
 * previous one.
 *
 * @param wanted undefined leaves the host as it is, and null removes it.
 */
export function hostColumns(wanted: string | null | undefined, before: string | null, production: boolean) {
  if (wanted === undefined) return {};
  const isProved = wanted === null || wanted === before || (!production && isDevelopmentHost(wanted));
  return isProved ? { gatewayHost: wanted, claimedHost: null } : { claimedHost: wanted };
}

/**
 * Updates the claims and reservations after a project's hosts have changed.
 *
 * @throws AppError `HOST_RESERVED`, or `CONFLICT` if the account has too many reservations.
 */
export async function moveHosts(
  tx: Transaction,
  { id, userId }: { id: string; userId: string },
  before: Hosts,
  after: Hosts,
): Promise<void> {
  await moveServedHost(tx, userId, before.gatewayHost, after.gatewayHost);
  if (before.claimedHost === after.claimedHost && before.gatewayHost === after.gatewayHost) return;
  const [row] = await runWithPrisma<{ at: Date }>(tx, FIRST_CHECK_AT(userId));
  const kept = [after.gatewayHost, after.claimedHost].filter((host) => host !== null);
  await tx.hostClaim.deleteMany({ where: { projectId: id, host: { notIn: kept } } });
  if (after.claimedHost === null || after.claimedHost === before.claimedHost) return;
  await refuseReserved(tx, after.claimedHost, userId);
  const data = { projectId: id, host: after.claimedHost, token: newHostToken(), nextCheckAt: row!.at };
  await tx.hostClaim.createMany({ data });
}

async function moveServedHost(tx: Transaction, userId: string, before: string | null, after: string | null) {
  if (after === before) return;
  if (after) await takeHost(tx, after, userId);
  if (before) await releaseHost(tx, before, userId);
}

/** Why a project doesn't get a host that its owner verified. */
export class NotActivated extends Error {}

const SET_VERIFIED = statement(
  'host-claim-set-verified',
  `UPDATE "HostClaim" SET "verifiedAt" = statement_timestamp() WHERE "projectId" = $1 AND "host" = $2`,
);

/**
 * Gives a project the host that its owner set and has now verified.
 *
 * @param from another project that may lose the host to this one, because that project's owner can no longer prove that
 * they own the name.
 * @returns false if the owner has set a different host in the meantime.
 * @throws NotActivated if another project or account has the host.
 */
export async function activateHost(
  tx: Transaction,
  claim: { projectId: string; host: string },
  from?: string,
): Promise<boolean> {
  const { projectId, host } = claim;
  await queueForHosts(tx);
  const before = await lockHost(tx, projectId);
  const project = await tx.project.findFirst({ where: { id: projectId, claimedHost: host } });
  if (!project) return false;
  const holder = await holderOf(tx, host);
  if (holder && holder !== from) throw new NotActivated('Another project already uses this domain.');
  if (holder) {
    await lockHost(tx, holder);
    await loseHost(tx, { projectId: holder, host }, 'The owner of another project verified that they own the domain.');
    await tx.hostClaim.updateMany({ where: { projectId: holder, host }, data: { nextCheckAt: null } });
  }
  const updatedAt = new Date(sharedNow());
  await tx.project.update({ where: { id: projectId }, data: { gatewayHost: host, claimedHost: null, updatedAt } });
  await moveServedHost(tx, project.userId, before, host).catch((error) => {
    throw error instanceof AppError ? new NotActivated(error.message) : error;
  });
  await tx.hostClaim.deleteMany({ where: { projectId, host: { not: host } } });
  await executeWithPrisma(tx, SET_VERIFIED(projectId, host));
  return true;
}

/** The project that has a host. */
export async function holderOf(tx: Pick<Transaction, 'project'>, host: string): Promise<string | undefined> {
  return (await tx.project.findUnique({ where: { gatewayHost: host }, select: { id: true } }))?.id;
}

const TAKE_FROM_PROJECT = statement(
  'host-take-from-project',
  `UPDATE "Project" SET "gatewayHost" = NULL, "claimedHost" = coalesce("claimedHost", $1),
     "updatedAt" = statement_timestamp()
   WHERE "id" = $2 AND "gatewayHost" = $1`,
);

const SET_LOST = statement(
  'host-claim-set-lost',
  `UPDATE "HostClaim" SET
     "verifiedAt" = NULL, "failingSince" = NULL, "claimedAt" = statement_timestamp(), "problem" = $1
   WHERE "projectId" = $2 AND "host" = $3`,
);

const DELETE_UNUSED = statement(
  'host-claim-delete-unused',
  `DELETE FROM "HostClaim" c WHERE "projectId" = $1 AND "host" = $2
     AND NOT EXISTS (SELECT FROM "Project" p WHERE p."id" = c."projectId" AND p."claimedHost" = c."host")`,
);

const SET_REASON = statement(
  'host-notice-set-reason',
  `UPDATE "Notice" SET "detail" = $1 WHERE "id" = (
     SELECT "id" FROM "Notice" WHERE "projectId" = $2 AND "type" = 'host.lost' AND "subject" = $3
     ORDER BY "id" DESC LIMIT 1)`,
);

/**
 * Takes a host from a project. From then on, the project only claims it. The database opens a notice, and this adds the
 * reason. The name isn't reserved, so the next person who verifies it can have it.
 */
export async function loseHost(
  tx: Transaction,
  { projectId, host }: { projectId: string; host: string },
  reason: string,
): Promise<void> {
  const lost = await executeWithPrisma(tx, TAKE_FROM_PROJECT(host, projectId));
  if (lost === 0) return;
  await executeWithPrisma(tx, SET_LOST(reason, projectId, host));
  await executeWithPrisma(tx, DELETE_UNUSED(projectId, host));
  await executeWithPrisma(tx, SET_REASON(reason, projectId, host));
}
