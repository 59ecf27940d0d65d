import { executeWithPrisma, runWithPrisma, statement, statements } from '../../database/statement.ts';
import type { TenantTransaction } from '../../database/tenant-client.ts';
import { marked, ofProject, type TenantFilter, type VisibleProjectId } from '../../database/tenant-filter.ts';
import { PaymentStatus, Prisma } from '../../generated/prisma/client.ts';

/**
 * The reserved account and project that own deleted resources, so that nobody can see these resources while their
 * history is being cleared. The migration "deletions" creates them.
 */
export const DELETED_USER_ID = 'usr_00000000000000000000000000';
export const DELETED_PROJECT_ID = 'proj_00000000000000000000000000';

/**
 * Soft-deletes webhooks: hides them, stops their deliveries, and erases their secrets. Their deliveries are deleted in
 * the background.
 *
 * @returns the number of deleted webhooks.
 */
export async function softDeleteWebhooks(
  tx: TenantTransaction,
  where: Prisma.WebhookWhereInput & TenantFilter,
): Promise<number> {
  await tx.webhookToken.deleteMany({ where: marked({ webhook: where }) });
  const data: Prisma.WebhookUncheckedUpdateManyInput = {
    ...DELETED_DATA,
    credentials: Prisma.DbNull,
    secretCredentials: null,
    url: '',
    origin: null,
    description: null,
    secret: '',
    previousSecret: null,
    previousSecretExpiresAt: null,
  };
  return (await tx.webhook.updateMany({ where, data })).count;
}

/** Soft-deletes connectors, like `softDeleteWebhooks`. */
export async function softDeleteConnectors(
  tx: TenantTransaction,
  where: Prisma.ConnectorWhereInput & TenantFilter,
): Promise<number> {
  await tx.connectorToken.deleteMany({ where: marked({ connector: where }) });
  const data: Prisma.ConnectorUncheckedUpdateManyInput = {
    ...DELETED_DATA,
    config: {},
    secretConfig: '',
    memory: {},
    nextProbeAt: null,
    credentialExpiresAt: null,
  };
  return (await tx.connector.updateMany({ where, data })).count;
}

const DELETE_API_KEYS = statement(
  'project-delete-api-keys',
  'DELETE FROM "ApiKey" WHERE "projectId" = $1 RETURNING "id"',
);

/**
 * Soft-deletes a project: hides the project and its resources, erases its secrets, and revokes its keys. Its events,
 * deliveries, and payments are deleted in the background. Lock the project's row first.
 *
 * @returns the IDs of its keys and of its members' accounts. Publish `topics.apiKeyRevoked` and
 *   `topics.membershipsChanged` for each of them afterward.
 */
export async function softDeleteProject(
  tx: TenantTransaction,
  projectId: VisibleProjectId,
): Promise<{ keyIds: string[]; memberIds: string[] }> {
  const where = ofProject(projectId);
  const keys = await runWithPrisma<{ id: string }>(tx, DELETE_API_KEYS(projectId));
  await tx.endpoint.deleteMany({ where });
  await tx.replay.deleteMany({ where });
  // Ends payments that haven't been sent to the chain, so nobody is charged for them. An index makes them fast to find.
  const status = { in: [PaymentStatus.CLAIMED, PaymentStatus.VERIFIED, PaymentStatus.SERVED] };
  await tx.payment.deleteMany({ where: { ...where, leasedUntil: { not: null }, status } });
  await softDeleteWebhooks(tx, where);
  await softDeleteConnectors(tx, where);
  await tx.notice.deleteMany({ where });
  await tx.noticeContacts.deleteMany({ where });
  await tx.noticeMessage.deleteMany({ where });
  await tx.hostClaim.deleteMany({ where });
  await tx.buyerRules.deleteMany({ where });
  const members = await tx.projectMember.findMany({ where, select: { userId: true } });
  await tx.projectMember.deleteMany({ where });
  await executeWithPrisma(tx, KEEP.Invitation(projectId));
  await executeWithPrisma(tx, KEEP.ProjectTransfer(projectId));
  await tx.project.update({
    where: marked({ id: projectId }),
    data: {
      userId: DELETED_USER_ID,
      name: '',
      description: null,
      iconUrl: null,
      contact: null,
      gatewayHost: null,
      claimedHost: null,
      slug: null,
      upstreamHeaders: Prisma.DbNull,
      secretUpstreamHeaders: null,
    },
  });
  return { keyIds: keys.map(({ id }) => id), memberIds: members.map(({ userId }) => userId) };
}

const ENDED_AS = { Invitation: 'REVOKED', ProjectTransfer: 'WITHDRAWN' } as const;

/**
 * Ends a project's open invitations and offers, and keeps all of them for as long as they count toward the daily limits.
 * Otherwise, someone who keeps deleting projects could send strangers any number of emails.
 */
const KEEP = statements(
  'project-keep',
  ['Invitation', 'ProjectTransfer'],
  (table) => `UPDATE "${table}" SET "projectId" = '${DELETED_PROJECT_ID}',
     "endedAt" = coalesce("endedAt", statement_timestamp()),
     "status" = CASE "status" WHEN 'PENDING' THEN '${ENDED_AS[table]}' ELSE "status" END
   WHERE "projectId" = $1`,
);

const DELETED_DATA = {
  projectId: DELETED_PROJECT_ID,
  isActive: false,
  eventTypes: [],
  filter: Prisma.DbNull,
  disabledReason: null,
  disabledAt: null,
  pausedReason: null,
  pausedAt: null,
  failingSince: null,
  circuitOpenUntil: null,
  maxPerSecond: null,
};
