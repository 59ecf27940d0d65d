import { inVisibleProject, requireVisible } from '../auth/access.ts';
import type { Viewer } from '../auth/viewer.ts';
import type { Bus } from '../bus/bus.ts';
import type { TenantDatabase } from '../database/tenant-client.ts';
import type { VisibleProjectId } from '../database/tenant-filter.ts';
import { firstIdAt, type IdType } from '../ids.ts';
import type { Backlog } from '../limits/backlog.ts';
import { createFairQueue } from '../limits/fair-queue.ts';
import type { ChangeSource } from './change-queries.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';
import { createFollower, type Follower } from './follower.ts';
import type { ChangesRequest, FoundRow, Progress } from './progress.ts';
import { subscribeToRows } from './subscription.ts';

/** How often a follower reads without a hint, because hints may be lost. */
const POLL_MILLISECONDS = 2_000;

type Where = { id: { in: string[] }; projectId: string } & ReturnType<typeof inVisibleProject>;

/** A table that can be followed. */
type FeedDefinition<Row, Name extends string, Filter> = {
  /** The field of an item that contains the row. */
  name: Name;
  idType: IdType;
  topicOf(projectId: string): string;
  changesOf(projectId: VisibleProjectId, filter: Filter): ChangeSource;
  /** The filter that matches every row. */
  everything: Filter;
  matches(filter: Filter): (row: Row) => boolean;
  load(where: Where, found: readonly FoundRow[]): Promise<ReadonlyMap<string, Row>>;
  /** Whether a row's last change can be ignored. */
  isIgnorable?(row: Row): boolean;
};

type FeedItem<Row, Name extends string> = { cursor: string } & Record<Name, Row>;

/** Opens subscriptions with the viewer's permissions. Subscriptions with the same permissions share a follower. */
export function createFeedOpener({ db, bus }: { db: TenantDatabase; bus: Bus }) {
  let subscriptionCount = 0;
  // Half of the database connections stay free for other work. An account can use only half of the rest.
  const perProcess = Math.max(1, Math.floor(db.pool.options.max / 2));
  const fairQueue = createFairQueue({ perProcess, perAccount: Math.ceil(perProcess / 2) });

  function feed<Row, Name extends string, Filter>(definition: FeedDefinition<Row, Name, Filter>) {
    const { name, idType, topicOf, changesOf, everything, matches, load, isIgnorable = () => false } = definition;
    const followers = new Map<string, Follower<Row, FeedItem<Row, Name>>>();
    const shared = { toItem, isIgnorable };

    function toItem(row: Row, progress: Progress) {
      return { cursor: encodeCursor(progress), [name]: row } as FeedItem<Row, Name>;
    }

    /** Reads rows with the viewer's permissions, within the account's share of the queue. */
    function readAs(viewer: Viewer, projectId: VisibleProjectId, filter: Filter) {
      const table = changesOf(projectId, filter);
      return {
        present: () => fairQueue.run(viewer.userId, table.present),
        query: (request: ChangesRequest) => fairQueue.run(viewer.userId, () => table.query(request)),
        load: (found: readonly FoundRow[]) => {
          const where = { id: { in: found.map(({ id }) => id) }, projectId, ...inVisibleProject(viewer) };
          return fairQueue.run(viewer.userId, () => load(where, found));
        },
      };
    }

    function findFollower(viewer: Viewer, projectId: VisibleProjectId) {
      const key = `${projectId} ${readerOf(viewer, projectId)}`;
      const existing = followers.get(key);
      if (existing) return existing;
      const options = {
        ...readAs(viewer, projectId, everything),
        ...shared,
        pollMilliseconds: POLL_MILLISECONDS,
        subscribe: (wake: () => void) => bus.subscribe(topicOf(projectId), () => wake()),
      };
      const follower = createFollower<Row, FeedItem<Row, Name>>(options, () => {
        if (followers.get(key) === follower) followers.delete(key);
      });
      followers.set(key, follower);
      return follower;
    }

    /**
     * Opens a subscription.
     *
     * @throws AppError `NOT_FOUND` if the viewer can't see the project, or `VALIDATION_FAILED` for an invalid cursor.
     */
    async function open(
      viewer: Viewer,
      { projectId: id, after }: { projectId: string; after?: string | null },
      filter: Filter,
      backlog: Backlog | undefined,
    ) {
      const reached = after != null ? decodeCursor(idType, after) : undefined;
      const projectId = await fairQueue.run(viewer.userId, () => requireVisible(db.prisma, viewer, id));
      const { present, ...reads } = readAs(viewer, projectId, filter);
      const start = reached ?? (await present());
      subscriptionCount += 1;
      return subscribeToRows<Row, FeedItem<Row, Name>>({
        ...reads,
        ...shared,
        start,
        backlog,
        retryMilliseconds: POLL_MILLISECONDS,
        matches: matches(filter),
        findFollower: () => findFollower(viewer, projectId),
        onEnd: () => {
          subscriptionCount -= 1;
        },
      });
    }

    /**
     * A cursor for the present moment: a subscription that starts after it shows everything that happens from now on.
     *
     * @throws AppError `NOT_FOUND` if the viewer can't see the project.
     */
    async function now(viewer: Viewer, id: string): Promise<string> {
      const projectId = await fairQueue.run(viewer.userId, () => requireVisible(db.prisma, viewer, id));
      const progress = await readAs(viewer, projectId, everything).present();
      // If there are no rows, the position has no ID.
      const { milliseconds } = progress.position;
      const position = { milliseconds, id: progress.position.id || firstIdAt(idType, milliseconds) };
      return encodeCursor({ ...progress, position });
    }

    return { open, now };
  }

  return { feed, subscriptionCount: () => subscriptionCount };
}

/**
 * What a viewer's permission to read a project's rows depends on. A previous owner who has become a member must not share
 * a follower with their older subscriptions, which no longer find any rows.
 */
function readerOf(viewer: Viewer, projectId: string): string {
  return viewer.kind === 'apiKey' ? 'apiKey' : `${viewer.userId} ${viewer.memberships?.[projectId] ?? 'OWNER'}`;
}
