import { PrismaPg } from '@prisma/adapter-pg';
import { openDevIssuer } from '../../src/auth/dev-issuer.ts';
import type { IssuerConfig } from '../../src/auth/issuer-config.ts';
import { PrismaClient } from '../../src/generated/prisma/client.ts';
import { newId } from '../../src/ids.ts';
import type { Server, ServerName, ServerOptions } from './server.ts';

type PeerOptions = { prisma: PrismaClient; issuer: IssuerConfig; newId: typeof newId };
type Peer = { createServer(options: PeerOptions): Promise<Server> };

/** The same number of connections as Tollgate's API uses. */
const POOL_SIZE = 10;

/** A peer. The peers aren't dependencies of the project, so the project's code can't import them by name. */
export const peerNamed = (name: Exclude<ServerName, 'tollgate'>) => ({
  async createServer({ databaseUrl, dataDir }: ServerOptions): Promise<Server> {
    const { createServer } = (await import(`../peers/api-${name}.mjs`)) as Peer;
    const adapter = new PrismaPg({ connectionString: databaseUrl, max: POOL_SIZE });
    const prisma = new PrismaClient({ adapter });
    const { config: issuer } = await openDevIssuer({ dataDir });
    const { url, stop } = await createServer({ prisma, issuer, newId });
    return {
      url,
      async stop() {
        await stop();
        await prisma.$disconnect();
      },
    };
  },
});
