import type { Viewer } from '../auth/viewer.ts';
import type { PrismaClient } from '../generated/prisma/client.ts';
import type { Backlog } from '../limits/backlog.ts';

/** The services that resolvers call. Each feature adds its own through declaration merging. */
export interface Services {}

/** The context of every resolver: the caller, the services, and the request ID. */
export type GraphQLContext = {
  viewer: Viewer;
  services: Services;
  requestId: string;
  /** Counts what is read ahead for the client. Set only by transports that can stream. */
  backlog?: Backlog;
  /**
   * Counts requests in addition to the one that carries the operation. Undefined if an operation is always one request.
   *
   * @throws AppError `RATE_LIMITED`.
   */
  countMore?: (requests: number) => Promise<void>;
  /** Pothos uses this to load relations. Resolvers use the services. */
  prisma: PrismaClient;
};
