import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { type App, type AppOptions, startApp } from '../../src/app.ts';
import { type DevIssuer, openDevIssuer } from '../../src/auth/dev-issuer.ts';
import { type Config, readConfig } from '../../src/config/config.ts';
import type { Tier } from '../../src/limits/tiers.ts';
import { createTestDatabase } from './database.ts';

export type TestUser = {
  subject: string;
  token: string;
  /** Calls a REST path as this user; the answer's body is parsed when there is one. */
  rest<T = unknown>(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer<T>>;
  graphql<T = Record<string, unknown>>(query: string, variables?: Record<string, unknown>): Promise<GraphQLAnswer<T>>;
};

export type Answer<T> = { status: number; headers: Headers; body: T };
export type GraphQLAnswer<T> = {
  data?: T | null;
  errors?: { message: string; path?: (string | number)[]; extensions: Record<string, unknown> }[];
  extensions?: Record<string, unknown>;
};

export type TestApp = Awaited<ReturnType<typeof startTestApp>>;

/**
 * The real service on an ephemeral port, with a database of its own and the dev issuer, as `npm start` runs it. Loopback
 * targets are allowed on every port.
 *
 * @param options `databaseUrl` to share the database of another app; `env` for settings beside the defaults.
 */
export async function startTestApp(
  options: Pick<AppOptions, 'hostOverrides' | 'delivery' | 'responsePacing' | 'payloadVersions'> & {
    databaseUrl?: string;
    dataDir?: string;
    env?: Record<string, string>;
    config?: Partial<Config>;
    log?: AppOptions['log'];
  } = {},
) {
  const database = options.databaseUrl ? undefined : await createTestDatabase();
  const databaseUrl = options.databaseUrl ?? database!.url;
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'tollgate-test-')));
  const config = readConfig({
    NODE_ENV: 'test',
    PORT: '0',
    DATA_DIR: dataDir,
    DATABASE_POOL_SIZE: '10',
    EGRESS_ALLOW: '127.0.0.1/32:*',
    ...options.env,
  });
  const { hostOverrides, delivery, responsePacing, payloadVersions } = options;
  const app: App = await startApp({
    config: { ...config, ...options.config },
    databaseUrl,
    log: options.log ?? pino({ level: process.env.TEST_LOG ?? 'silent' }),
    ...(hostOverrides && { hostOverrides }),
    ...(delivery && { delivery }),
    ...(responsePacing && { responsePacing }),
    ...(payloadVersions && { payloadVersions }),
  });
  const issuer: DevIssuer = await openDevIssuer({ dataDir });

  return {
    url: app.url,
    databaseUrl,
    dataDir,
    issuer,
    /** A user of the dev issuer. Without a tier of their own they are `PRO`, so that connectors can be made. */
    async user(subject: string, tier: Tier = 'PRO'): Promise<TestUser> {
      return caller(app.url, subject, await issuer.sign({ subject, tier }));
    },
    /** Somebody with this credential, such as an API key. */
    caller: (credential: string): TestUser => caller(app.url, '', credential),
    async stop(): Promise<void> {
      await app.stop();
      await database?.drop();
      if (!options.dataDir) await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Somebody with a credential, at a service. */
export function caller(url: string, subject: string, token: string): TestUser {
  const authorization = `Bearer ${token}`;
  return {
    subject,
    token,
    async rest<T>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
      const response = await fetch(url + path, {
        method,
        headers: { authorization, ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      return { status: response.status, headers: response.headers, body: (text ? JSON.parse(text) : undefined) as T };
    },
    async graphql<T>(query: string, variables: Record<string, unknown> = {}) {
      const response = await fetch(`${url}/graphql`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify({ query, variables }),
      });
      return (await response.json()) as GraphQLAnswer<T>;
    },
  };
}
