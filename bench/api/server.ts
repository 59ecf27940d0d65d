import type { StatementCounts } from '../support/statements.ts';

/** A server with the management API, or with as much of it as is measured. Each runs in its own process. */
export type Server = { url: string; stop(): Promise<void> };

export type ServerOptions = {
  /** The database, which already has the data. */
  databaseUrl: string;
  /** The folder with the key of the tokens' issuer. */
  dataDir: string;
};

/** The servers that serve REST, and those that serve GraphQL. */
export const REST_SERVERS = ['tollgate', 'fastify'] as const;
export const GRAPHQL_SERVERS = ['tollgate', 'mercurius', 'apollo', 'yoga'] as const;
export type ServerName = (typeof REST_SERVERS)[number] | (typeof GRAPHQL_SERVERS)[number];

export type Usage = StatementCounts & { cpuMicroseconds: number; rssBytes: number };
