import type { Queryable } from './client.ts';
import { COUNT_AT_MOST, exactCount } from './count-limit.ts';
import { runStatement, type Statement, statements, type Variants } from './statement.ts';
import { marked, type TenantFilter, type VisibleProjectId } from './tenant-filter.ts';

/**
 * A window into a project's list, newest first, and how Prisma loads its items. A negative `take` counts from the end.
 */
export type PageQuery = { where?: { id?: { lt?: string; gt?: string } }; take: number };

/** The contents of a page. */
type PageFilter = TenantFilter & { AND?: object[]; id?: { in: string[] } };

type PageOfIds = (
  projectIds: readonly string[],
  size: number,
  before: string | null,
  after: string | null,
) => Statement<{ id: string }>;
type PageStatements = {
  first: PageOfIds;
  last: PageOfIds;
  count: (projectIds: readonly string[], atMost: number) => Statement<{ id: string; count: number }>;
};

/**
 * Defines the statements for pages of a table that has the columns `projectId` and `id`.
 *
 * @param condition an SQL condition for its rows.
 */
export function pageStatements<Name extends string>(
  name: Name,
  table: string,
  condition = 'true',
): Variants<Name, 'first' | 'last' | 'count'> {
  // The server plans these with the values, so a bound that isn't set costs nothing.
  const page = (order: 'ASC' | 'DESC') => `
    SELECT item."id" FROM unnest($1::text[]) AS project("id") CROSS JOIN LATERAL (
      SELECT "id" FROM "${table}" WHERE "projectId" = project."id" AND ${condition}
        AND ($3::text IS NULL OR "id" < $3) AND ($4::text IS NULL OR "id" > $4)
      ORDER BY "id" ${order} LIMIT $2
    ) AS item`;
  const texts = {
    first: page('DESC'),
    last: page('ASC'),
    count: `
    SELECT project."id", item."count" FROM unnest($1::text[]) AS project("id") CROSS JOIN LATERAL (
      SELECT count(*)::int AS "count" FROM (
        SELECT 1 FROM "${table}" WHERE "projectId" = project."id" AND ${condition} LIMIT $2
      ) AS counted
    ) AS item`,
  };
  return statements(name, ['first', 'last', 'count'], (which) => texts[which]);
}

type CountBatch = { projectIds: Set<VisibleProjectId>; counts: Promise<ReadonlyMap<string, number>> };
type Batch<Row> = { projectIds: Set<VisibleProjectId>; pages: Promise<ReadonlyMap<string, Row[]>> };

/**
 * Loads pages of projects' lists. Pages requested for the same caller in the same turn of the event loop (for example,
 * a list under each of several projects) share two statements: one finds the IDs on each page, because Prisma can't
 * limit the items of each project, and one loads the items.
 *
 * @param statements made with `pageStatements`. `find` must apply their condition too.
 * @param find loads the rows that match a Prisma filter, newest first.
 */
export function createPages<Query extends PageQuery, Row extends { id: string; projectId: string }>(options: {
  db: Queryable;
  statements: PageStatements;
  find: (query: Omit<Query, 'where' | 'take'>, which: { where: PageFilter; take?: number }) => Promise<Row[]>;
}) {
  const { db, statements: found, find } = options;
  const batches = new WeakMap<object, Map<string, Batch<Row>>>();

  /**
   * @param caller pages are loaded together only if this is the same object.
   * @param filter a Prisma filter. Filtered pages are loaded one by one.
   */
  async function load(caller: object, projectId: VisibleProjectId, query: Query, filter: object = {}): Promise<Row[]> {
    if (Object.keys(filter).length > 0) {
      const { where = {}, take, ...rest } = query;
      return find(rest, { where: marked({ AND: [{ projectId }, where, filter] }), take });
    }
    const ofCaller = batches.get(caller) ?? new Map<string, Batch<Row>>();
    batches.set(caller, ofCaller);
    const key = JSON.stringify(query);
    let batch = ofCaller.get(key);
    if (!batch) {
      const projectIds = new Set<VisibleProjectId>();
      const isFull = new Promise((resolve) => process.nextTick(resolve)).then(() => ofCaller.delete(key));
      batch = { projectIds, pages: isFull.then(() => loadAll([...projectIds], query)) };
      ofCaller.set(key, batch);
    }
    batch.projectIds.add(projectId);
    return (await batch.pages).get(projectId) ?? [];
  }

  async function loadAll(projectIds: readonly VisibleProjectId[], query: Query): Promise<ReadonlyMap<string, Row[]>> {
    const { where = {}, take, ...rest } = query;
    const [only, ...others] = projectIds;
    if (others.length === 0) {
      return new Map([[only!, await find(rest, { where: marked({ AND: [{ projectId: only }, where] }), take })]]);
    }
    const ids = await idsOnPages(projectIds, query);
    return Map.groupBy(await find(rest, { where: marked({ id: { in: ids } }) }), ({ projectId }) => projectId);
  }

  async function idsOnPages(
    projectIds: readonly VisibleProjectId[],
    { where: { id } = {}, take }: Query,
  ): Promise<string[]> {
    const page = take < 0 ? found.last : found.first;
    const { rows } = await runStatement(db, page(projectIds, Math.abs(take), id?.lt ?? null, id?.gt ?? null));
    return rows.map((row) => row.id);
  }

  const counts = new WeakMap<object, CountBatch>();

  /**
   * The number of items in a project's list. Null above `COUNT_LIMIT`. Counts requested for the same caller in the same
   * turn of the event loop share one statement.
   *
   * @param filter a Prisma filter. Filtered lists are counted one by one.
   */
  async function count(caller: object, projectId: VisibleProjectId, filter: object = {}): Promise<number | null> {
    if (Object.keys(filter).length > 0) {
      const query = { select: { id: true } } as unknown as Omit<Query, 'where' | 'take'>;
      const found = await find(query, { where: marked({ AND: [{ projectId }, filter] }), take: COUNT_AT_MOST });
      return exactCount(found.length);
    }
    let batch = counts.get(caller);
    if (!batch) {
      const projectIds = new Set<VisibleProjectId>();
      const isFull = new Promise((resolve) => process.nextTick(resolve)).then(() => counts.delete(caller));
      batch = { projectIds, counts: isFull.then(() => countEach([...projectIds])) };
      counts.set(caller, batch);
    }
    batch.projectIds.add(projectId);
    return exactCount((await batch.counts).get(projectId) ?? 0);
  }

  async function countEach(projectIds: readonly VisibleProjectId[]): Promise<ReadonlyMap<string, number>> {
    const { rows } = await runStatement(db, found.count(projectIds, COUNT_AT_MOST));
    return new Map(rows.map((row) => [row.id, row.count]));
  }

  return { load, count };
}
