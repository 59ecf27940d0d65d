import { ofOwnProjects, ownAccount } from '../../auth/access.ts';
import type { Viewer } from '../../auth/viewer.ts';
import type { TenantDatabase } from '../../database/tenant-client.ts';
import type { User } from '../../generated/prisma/client.ts';

export type UserService = ReturnType<typeof createUserService>;

/** The account that a viewer belongs to. */
export function createUserService({ db }: { db: TenantDatabase }) {
  return {
    /** The signed-in user, or the owner of the API key's project. */
    current(viewer: Viewer): Promise<User> {
      return db.prisma.user.findUniqueOrThrow({ where: ownAccount(viewer) });
    },

    countConnectors(viewer: Viewer): Promise<number> {
      return db.prisma.connector.count({ where: ofOwnProjects(viewer) });
    },
  };
}
