import type { IdentifyAgain, Viewer } from '../auth/viewer.ts';
import type { PrismaClient } from '../generated/prisma/client.ts';
import type { Backlog } from '../limits/backlog.ts';

/** The services that resolvers call. Each feature adds its own through declaration merging. */
export interface Services {}

/** The context of every resolver: the caller, the services, and the request ID. */
export type GraphQLContext = {
  viewer: Viewer;
  services: Services;
  requestId: string;
  /**
   * Identifies the caller again. Call this after waiting for someone else's server: in the meantime, the credential may
   * have been revoked, or the person's role may have changed.
   *
   * @throws AppError the same errors as for a new request with this credential.
   */
  identifyAgain: IdentifyAgain;
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
