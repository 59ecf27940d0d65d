import { limitsOfOwner } from '../../auth/owner-limits.ts';
import type { Viewer } from '../../auth/viewer.ts';
import type { Transaction } from '../../database/client.ts';
import { lockForNoKeyUpdate } from '../../database/locks.ts';
import { asReference } from '../../database/reference.ts';
import { runWithPrisma, statement } from '../../database/statement.ts';
import { AppError } from '../../errors.ts';
import type { PrismaClient, Project } from '../../generated/prisma/client.ts';

/**
 * Locks the project's account until the transaction ends. Otherwise, two concurrent requests could exceed the limit.
 * While it is locked, the account can still create projects.
 *
 * @param added how many connectors will be created.
 * @throws AppError `CONNECTOR_LIMIT_REACHED` if the account would have more connectors than its tier includes.
 */
export async function requireConnectorQuota(
  tx: Transaction,
  viewer: Viewer,
  { id, userId }: Pick<Project, 'id' | 'userId'>,
  added: number,
): Promise<void> {
  if (added === 0) return;
  await lockForNoKeyUpdate(tx, 'user', userId);
  const { maxConnectors, whose } = await limitsOfOwner(tx, viewer, id);
  if (maxConnectors === null) return;
  const count = await countConnectors(tx, userId);
  if (count + added > maxConnectors) throw limitReached(whose, maxConnectors, maxConnectors - count);
}

/** How many more connectors the project's account can have, across all its projects. Null means unlimited. */
export async function connectorQuota(
  db: Pick<PrismaClient, 'project' | '$queryRawUnsafe'>,
  viewer: Viewer,
  { id, userId }: Pick<Project, 'id' | 'userId'>,
): Promise<number | null> {
  const { maxConnectors } = await limitsOfOwner(db, viewer, id);
  if (maxConnectors === null) return null;
  return Math.max(0, maxConnectors - (await countConnectors(db, userId)));
}

const COUNT_CONNECTORS = statement(
  'count-connectors',
  `
  SELECT count(*)::int AS "count" FROM "Project" p JOIN "Connector" c ON c."projectId" = ${asReference('p."id"')} WHERE p."userId" = $1`,
);

/** The number of connectors in all projects of an account. */
export async function countConnectors(db: Pick<PrismaClient, '$queryRawUnsafe'>, userId: string): Promise<number> {
  const [row] = await runWithPrisma<{ count: number }>(db, COUNT_CONNECTORS(userId));
  return row!.count;
}

function limitReached(whose: string, maxConnectors: number, left: number): AppError {
  const detail =
    maxConnectors === 0
      ? `${whose} doesn't include connectors. Upgrade to a higher tier.`
      : left <= 0
        ? `${whose} includes ${maxConnectors} connectors across all projects, and that many already exist. Delete one or upgrade to a higher tier.`
        : `${whose} includes ${maxConnectors} connectors across all projects, and there is room for only ${left} more. Delete some or upgrade to a higher tier.`;
  return new AppError('CONNECTOR_LIMIT_REACHED', { detail });
}
