import type { Queryable } from './client.ts';

/** A window into a project's list, newest first, and how Prisma loads its items. A negative `take` counts from the end. */
export type PageQuery = { where?: { id?: { lt?: string; gt?: string } }; take: number };

type Batch<Row> = { projectIds: Set<string>; pages: Promise<ReadonlyMap<string, Row[]>> };

/**
 * Loads pages of projects' lists. Pages that are requested for the same caller in the same turn of the event loop (for
 * example, a list under each of several projects) take two statements together: one finds the IDs on each page, because
 * Prisma can't limit the items of each project, and one loads the items.
 *
 * @param table the table that has the columns `projectId` and `id`.
 * @param condition an SQL condition for its rows. `find` must apply it too.
 * @param find loads the rows that match a Prisma filter, newest first.
 */
export function createPages<Query extends PageQuery, Row extends { id: string; projectId: string }>(options: {
  db: Queryable;
  table: string;
  condition?: string;
  find: (query: Omit<Query, 'where' | 'take'>, which: { where: object; take?: number }) => Promise<Row[]>;
}) {
  const { db, table, condition = 'true', find } = options;
  const batches = new WeakMap<object, Map<string, Batch<Row>>>();

  /** @param caller pages are loaded together only if this is the same object. */
  async function load(caller: object, projectId: string, query: Query): Promise<Row[]> {
    const ofCaller = batches.get(caller) ?? new Map<string, Batch<Row>>();
    batches.set(caller, ofCaller);
    const key = JSON.stringify(query);
    let batch = ofCaller.get(key);
    if (!batch) {
      const projectIds = new Set<string>();
      const isFull = new Promise((resolve) => process.nextTick(resolve)).then(() => ofCaller.delete(key));
      batch = { projectIds, pages: isFull.then(() => loadAll([...projectIds], query)) };
      ofCaller.set(key, batch);
    }
    batch.projectIds.add(projectId);
    return (await batch.pages).get(projectId) ?? [];
  }

  async function loadAll(projectIds: readonly string[], query: Query): Promise<ReadonlyMap<string, Row[]>> {
    const { where = {}, take, ...rest } = query;
    const [only, ...others] = projectIds;
    if (others.length === 0) {
      return new Map([[only!, await find(rest, { where: { AND: [where, { projectId: only }] }, take })]]);
    }
    const ids = await idsOnPages(projectIds, query);
    return Map.groupBy(await find(rest, { where: { id: { in: ids } } }), ({ projectId }) => projectId);
  }

  async function idsOnPages(projectIds: readonly string[], { where: { id } = {}, take }: Query): Promise<string[]> {
    const values: unknown[] = [projectIds, Math.abs(take)];
    const bounds = [
      ...(id?.lt === undefined ? [] : [`AND "id" < $${values.push(id.lt)}`]),
      ...(id?.gt === undefined ? [] : [`AND "id" > $${values.push(id.gt)}`]),
    ];
    const text = `
      SELECT item."id" FROM unnest($1::text[]) AS project("id") CROSS JOIN LATERAL (
        SELECT "id" FROM "${table}" WHERE "projectId" = project."id" AND ${condition} ${bounds.join(' ')}
        ORDER BY "id" ${take < 0 ? 'ASC' : 'DESC'} LIMIT $2
      ) AS item`;
    return (await db.query<{ id: string }>(text, values)).rows.map((row) => row.id);
  }

  return { load };
}
