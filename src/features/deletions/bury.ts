import type { Transaction } from '../../database/client.ts';
import { PaymentStatus, Prisma } from '../../generated/prisma/client.ts';

/**
 * The reserved account and project that own deleted resources, so that nobody can see these resources while their
 * history is being cleared. The migration "deletions" creates them.
 */
export const DELETED_USER_ID = 'usr_00000000000000000000000000';
export const DELETED_PROJECT_ID = 'proj_00000000000000000000000000';

/**
 * Deletes webhooks: they disappear, send nothing more, and lose their secrets. Their deliveries are deleted in the
 * background.
 *
 * @returns how many there were.
 */
export async function buryWebhooks(tx: Transaction, where: Prisma.WebhookWhereInput): Promise<number> {
  await tx.webhookToken.deleteMany({ where: { webhook: where } });
  const data: Prisma.WebhookUncheckedUpdateManyInput = {
    ...BURIED,
    ...{ credentials: Prisma.DbNull, secretCredentials: null },
    ...{ url: '', origin: null, description: null, secret: '', previousSecret: null, previousSecretExpiresAt: null },
  };
  return (await tx.webhook.updateMany({ where, data })).count;
}

/** Deletes connectors, like `buryWebhooks`. */
export async function buryConnectors(tx: Transaction, where: Prisma.ConnectorWhereInput): Promise<number> {
  await tx.connectorToken.deleteMany({ where: { connector: where } });
  const data: Prisma.ConnectorUncheckedUpdateManyInput = {
    ...BURIED,
    ...{ config: {}, secretConfig: '', memory: {}, nextProbeAt: null, credentialExpiresAt: null },
  };
  return (await tx.connector.updateMany({ where, data })).count;
}

/**
 * Deletes a project: it disappears with its resources, and its keys stop working. Its events, deliveries, and payments
 * are deleted in the background. Lock the project's row first.
 *
 * @returns the IDs of its keys. Publish `topics.apiKeyRevoked` for each of them afterward.
 */
export async function buryProject(tx: Transaction, projectId: string): Promise<string[]> {
  const where = { projectId };
  const keys = await tx.$queryRaw<
    { id: string }[]
  >`DELETE FROM "ApiKey" WHERE "projectId" = ${projectId} RETURNING "id"`;
  await tx.endpoint.deleteMany({ where });
  await tx.replay.deleteMany({ where });
  // Payments that haven't been sent to the chain end, and nobody is charged. They have an index.
  const status = { in: [PaymentStatus.CLAIMED, PaymentStatus.VERIFIED, PaymentStatus.SERVED] };
  await tx.payment.deleteMany({ where: { ...where, leasedUntil: { not: null }, status } });
  await buryWebhooks(tx, where);
  await buryConnectors(tx, where);
  await tx.notice.deleteMany({ where });
  await tx.noticeContacts.deleteMany({ where });
  await tx.noticeMessage.deleteMany({ where });
  await tx.project.update({
    where: { id: projectId },
    data: { userId: DELETED_USER_ID, name: '', gatewayHost: null },
  });
  return keys.map(({ id }) => id);
}

const BURIED = {
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
