import type { Viewer } from '../auth/viewer.ts';
import type { PrismaClient } from '../generated/prisma/client.ts';
import type { Services } from '../services.ts';

/** What every resolver gets: who asks, the services, and what identifies the request. */
export type GraphQLContext = {
  viewer: Viewer;
  services: Services;
  requestId: string;
  /** For Pothos to load relations with; resolvers use the services. */
  prisma: PrismaClient;
};
