import type { Viewer } from '../auth/viewer.ts';
import type { PrismaClient } from '../generated/prisma/client.ts';
import type { Backlog } from '../limits/backlog.ts';

/** The services that resolvers call. Each feature adds its own by declaration merging, beside its types. */
export interface Services {}

/** What every resolver gets: who asks, the services, and what identifies the request. */
export type GraphQLContext = {
  viewer: Viewer;
  services: Services;
  requestId: string;
  /** What waits for the client, where it can be a stream: what is read ahead for it counts there. */
  backlog?: Backlog;
  /**
   * Counts so many requests beside the one that carries the operation. Left out where an operation is one request.
   *
   * @throws AppError `RATE_LIMITED`.
   */
  countMore?: (requests: number) => Promise<void>;
  /** For Pothos to load relations with; resolvers use the services. */
  prisma: PrismaClient;
};
