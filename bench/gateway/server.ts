import type { StatementCounts } from '../support/statements.ts';

/** A server that sells the upstream's response. Each server runs in its own process. */
export type Server = {
  url: string;
  stop(): Promise<void>;
  /** The database statements that this process has sent so far, if it has a database. */
  counts?(): StatementCounts;
};

export type ServerOptions = {
  network: string;
  payTo: string;
  facilitatorUrl: string;
  upstreamUrl: string;
  /** For Tollgate only: its database, which already has the endpoint, and the folder with its keys. */
  databaseUrl: string;
  dataDir: string;
  /** For Tollgate only. */
  publicUrl?: string;
};

/** The chunks of a streamed response. */
export const STREAM_CHUNKS = 1_000;

/**
 * The upstream's streamed responses. `stream`: a chunk per millisecond. `tokens`: a chunk every 50 milliseconds, like a
 * language model. `flood`: more than all buffers on the way hold.
 */
export const STREAMS = ['stream', 'tokens', 'flood'] as const;
export type StreamName = (typeof STREAMS)[number];

/** The servers that run in a Node.js process. */
export const NODE_SERVERS = ['tollgate', '@x402/express', '@x402/hono'] as const;
export const WITHOUT_PUBLIC_URL = 'tollgate without PUBLIC_URL';
export type NodeServer = (typeof NODE_SERVERS)[number] | typeof WITHOUT_PUBLIC_URL;
export type ServerName = NodeServer | 'nginx';

export type Usage = StatementCounts & { cpuMicroseconds: number; rssBytes: number };
