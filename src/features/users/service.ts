import type { Viewer } from '../../auth/viewer.ts';
import type { Database } from '../../database/client.ts';
import type { User } from '../../generated/prisma/client.ts';

export type UserService = ReturnType<typeof createUserService>;

/** The account behind a viewer. */
export function createUserService({ db }: { db: Database }) {
  return {
    /** The signed-in user, or the owner of the API key's project. */
    current(viewer: Viewer): Promise<User> {
      return db.prisma.user.findUniqueOrThrow({ where: { id: viewer.userId } });
    },

    countConnectors(viewer: Viewer): Promise<number> {
      return db.prisma.connector.count({ where: { project: { userId: viewer.userId } } });
    },
  };
}
