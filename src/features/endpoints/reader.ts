import { inProject, inVisibleProject, visibleItem, visibleProjectId } from '../../auth/access.ts';
import type { Viewer } from '../../auth/viewer.ts';
import { beyond, inOrder, type Order } from '../../database/keyset.ts';
import { createLookups } from '../../database/lookups.ts';
import { createPages, type PageQuery, pageStatements } from '../../database/pages.ts';
import type { TenantDatabase } from '../../database/tenant-client.ts';
import type { Endpoint, Prisma } from '../../generated/prisma/client.ts';
import { type EndpointFilter, matching } from './filter.ts';

const PAGES = pageStatements('endpoints', 'Endpoint');

type Relations = Omit<Prisma.EndpointFindManyArgs, 'where' | 'orderBy' | 'take'>;

/** The part of the endpoint service that reads endpoints. */
export function createEndpointReader(db: TenantDatabase) {
  const pages = createPages({
    db: db.pool,
    statements: PAGES,
    find: (query: Omit<Prisma.EndpointFindManyArgs, 'where' | 'take'>, which) =>
      db.prisma.endpoint.findMany({ ...query, ...which, orderBy: { id: 'desc' } }),
  });

  const findTogether = createLookups((viewer: Viewer, ids, query: Relations) =>
    db.prisma.endpoint.findMany({ ...query, where: { id: { in: ids }, ...inVisibleProject(viewer) } }),
  );

  return {
    async list(
      viewer: Viewer,
      projectId: string,
      filter: EndpointFilter,
      query: Prisma.EndpointFindManyArgs & PageQuery,
    ): Promise<Endpoint[]> {
      const visible = await visibleProjectId(db.prisma, viewer, projectId);
      return visible ? pages.load(viewer, visible, query, matching(filter)) : [];
    },

    /**
     * The endpoints in an order other than newest first.
     *
     * @param slice the cursors to start after and end before; a negative `take` counts from the end.
     */
    async listInOrder(
      viewer: Viewer,
      projectId: string,
      filter: EndpointFilter,
      order: Order<Endpoint>,
      { after, before, take, relations }: { after?: string; before?: string; take: number; relations?: Relations },
    ): Promise<Endpoint[]> {
      // The cursor contains this column, so it is always read.
      const select = relations?.select && { ...relations.select, [order.column]: true };
      return db.prisma.endpoint.findMany({
        ...relations,
        ...(select && { select }),
        where: {
          ...(await inProject(db.prisma, viewer, projectId)),
          AND: [
            matching(filter),
            after ? beyond(order, 'Endpoint', after, 'after') : {},
            before ? beyond(order, 'Endpoint', before, 'before') : {},
          ],
        },
        orderBy: inOrder(order),
        take,
      });
    },

    /** The number of items in the list. Null if there are more than `COUNT_LIMIT`. */
    async count(viewer: Viewer, projectId: string, filter: EndpointFilter): Promise<number | null> {
      const visible = await visibleProjectId(db.prisma, viewer, projectId);
      return visible ? pages.count(viewer, visible, matching(filter)) : 0;
    },

    find(
      viewer: Viewer,
      id: string,
      projectId?: string | null,
      query: Prisma.EndpointFindFirstArgs = {},
    ): Promise<Endpoint | null> {
      return db.prisma.endpoint.findFirst({ ...query, where: visibleItem(viewer, 'Endpoint', id, projectId) });
    },

    /** Reads the endpoints of many resources with one statement. */
    findTogether,
  };
}
