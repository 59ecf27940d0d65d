import { inVisibleProject } from '../../auth/access.ts';
import type { Viewer } from '../../auth/viewer.ts';
import type { TenantDatabase } from '../../database/tenant-client.ts';
import type { Match } from './compare.ts';
import { type Change, COMPARED, changesOf } from './fields.ts';

/** The maximum number of endpoints to compare. */
const MAX_ENDPOINTS = 5_000;
/**
 * How many endpoints have their schemas and examples in memory at the same time. As objects, each can use a megabyte or
 * more.
 */
const ENDPOINTS_AT_ONCE = 25;

const { inputSchema, exampleResponse, ...SMALL } = COMPARED;

/** An endpoint without its schemas and examples. */
export type Stored = Awaited<ReturnType<typeof readStored>>[number];

/** Reads a project's endpoints, newest first, without their schemas and examples. */
export function readStored({ prisma }: Pick<TenantDatabase, 'prisma'>, viewer: Viewer, projectId: string) {
  return prisma.endpoint.findMany({
    where: { projectId, ...inVisibleProject(viewer) },
    select: { id: true, priceAtomic: true, protocol: true, ...SMALL },
    orderBy: { id: 'desc' },
    take: MAX_ENDPOINTS,
  });
}

/** Compares the endpoints with their proposals, in order. To save memory, keep only what you need of each change. */
export async function* compareEach(
  { prisma }: Pick<TenantDatabase, 'prisma'>,
  viewer: Viewer,
  matches: readonly Match<Stored>[],
): AsyncGenerator<{ match: Match<Stored>; changes: Change[] }> {
  for (let first = 0; first < matches.length; first += ENDPOINTS_AT_ONCE) {
    const some = matches.slice(first, first + ENDPOINTS_AT_ONCE);
    const ids = some.flatMap(({ proposal, endpoint }) => (proposal && endpoint ? endpoint.id : []));
    const found =
      ids.length === 0
        ? []
        : await prisma.endpoint.findMany({
            where: { id: { in: ids }, ...inVisibleProject(viewer) },
            select: { id: true, inputSchema, exampleResponse },
          });
    const large = new Map(found.map((endpoint) => [endpoint.id, endpoint]));
    for (const match of some) {
      const { proposal, endpoint } = match;
      const stored = endpoint && { ...endpoint, ...(large.get(endpoint.id) ?? NOTHING) };
      yield { match, changes: proposal && stored ? changesOf(stored, proposal) : [] };
    }
  }
}

const NOTHING = { inputSchema: null, exampleResponse: null };
