import type { Prisma, PrismaClient } from '../generated/prisma/client.ts';
import type { Database, Transaction } from './client.ts';
import type { Filtered, VisibleProjectId } from './tenant-filter.ts';

type Model = Prisma.TypeMap['meta']['modelProps'];
type Operation =
  | ('findMany' | 'findFirst' | 'findFirstOrThrow' | 'findUnique' | 'findUniqueOrThrow' | 'count' | 'aggregate')
  | ('groupBy' | 'update' | 'updateMany' | 'updateManyAndReturn' | 'delete' | 'deleteMany');

/** A new row. If it belongs to a project, the project must be visible to the caller. */
type OfVisible = { projectId?: VisibleProjectId | null };

/** A table whose rows can only be reached with a tenant filter. */
type FilteredDelegate<Delegate> = {
  [Name in Operation]: <Args extends Prisma.Args<Delegate, Name> & { where: Filtered }>(
    args: Prisma.SelectSubset<Args, Prisma.Args<Delegate, Name>>,
  ) => Prisma.PrismaPromise<Prisma.Result<Delegate, Args, Name>>;
} & {
  [Name in 'create' | 'createMany']: <Args extends Prisma.Args<Delegate, Name> & { data: OfVisible | OfVisible[] }>(
    args: Prisma.SelectSubset<Args, Prisma.Args<Delegate, Name>>,
  ) => Prisma.PrismaPromise<Prisma.Result<Delegate, Args, Name>>;
};

type FilteredDelegates = { [Name in Model]: FilteredDelegate<PrismaClient[Name]> };

/** A `TenantClient` inside a transaction. */
export type TenantTransaction = Omit<Transaction, Model> & FilteredDelegates;

/**
 * A second line of defense behind `auth/access.ts`: the Prisma client for all code that acts for a viewer. A query
 * without a tenant filter doesn't compile. It is the same object as the other client, so it costs nothing at run time.
 */
export type TenantClient = Pick<PrismaClient, '$executeRaw' | '$executeRawUnsafe' | '$queryRaw' | '$queryRawUnsafe'> &
  FilteredDelegates & {
    $transaction<Result>(work: (tx: TenantTransaction) => Promise<Result>): Promise<Result>;
  };

/** The database for all code that acts for a viewer. */
export type TenantDatabase = Omit<Database, 'prisma'> & { prisma: TenantClient };

/** Limits a database to queries with tenant filters. */
export function behindWall(db: Database): TenantDatabase {
  return db as unknown as TenantDatabase;
}

/**
 * The same client without this check, for rules (such as limits) about a project or row that the caller has already
 * read and locked. `test/architecture.test.ts` lists the files that may do this.
 */
export function unfiltered(client: TenantTransaction): Transaction;
export function unfiltered(client: TenantClient): PrismaClient;
export function unfiltered(client: TenantTransaction | TenantClient) {
  return client as unknown as PrismaClient;
}
