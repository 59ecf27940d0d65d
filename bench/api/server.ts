import type { StatementCounts } from '../support/statements.ts';

/** A server with the management API, or with only the measured part of it. Each runs in its own process. */
export type Server = { url: string; stop(): Promise<void> };

export type ServerOptions = {
  /** The database, which already has the data. */
  databaseUrl: string;
  /** The folder with the token issuer's key. */
  dataDir: string;
};

/** The servers for the REST parts, and those for the GraphQL parts. */
export const REST_SERVERS = ['tollgate', 'fastify'] as const;
export const GRAPHQL_SERVERS = ['tollgate', 'mercurius', 'apollo', 'yoga'] as const;
export type ServerName = (typeof REST_SERVERS)[number] | (typeof GRAPHQL_SERVERS)[number];

export type Usage = StatementCounts & { cpuMicroseconds: number; rssBytes: number };
