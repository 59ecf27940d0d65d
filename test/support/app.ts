import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { inject } from 'vitest';
import { type App, type AppOptions, startApp } from '../../src/app.ts';
import { type DevIssuer, openDevIssuer } from '../../src/auth/dev-issuer.ts';
import { type Config, readConfig } from '../../src/config/config.ts';
import type { Tier } from '../../src/limits/tiers.ts';
import type { Overrides } from '../../src/roles/overrides.ts';
import { createTestDatabase } from './database.ts';

export type TestUser = {
  subject: string;
  token: string;
  /** Calls a REST path as this user and parses the response body if there is one. */
  rest<T = unknown>(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<TestResponse<T>>;
  graphql<T = Record<string, unknown>>(query: string, variables?: Record<string, unknown>): Promise<GraphQLResponse<T>>;
};

export type TestResponse<T> = { status: number; headers: Headers; body: T };
type GraphQLResponse<T> = {
  data?: T | null;
  errors?: { message: string; path?: (string | number)[]; extensions: Record<string, unknown> }[];
  extensions?: Record<string, unknown>;
};

export type TestApp = Awaited<ReturnType<typeof startTestApp>>;

/**
 * Starts the real service as `npm start` does, on an ephemeral port, with a new database and the dev issuer. It can
 * send requests to any loopback port.
 *
 * @param options `databaseUrl` shares the database of another app, `env` sets environment variables, and `config`
 *   changes the configuration made from them. All other options are overrides.
 */
export async function startTestApp(
  options: Overrides & {
    databaseUrl?: string;
    dataDir?: string;
    env?: Record<string, string>;
    config?: Partial<Config>;
    log?: AppOptions['log'];
  } = {},
) {
  const { databaseUrl: givenUrl, dataDir: givenFolder, env, config: changes, log, ...overrides } = options;
  const database = givenUrl ? undefined : await createTestDatabase();
  const databaseUrl = givenUrl ?? database!.url;
  const dataDir = givenFolder ?? (await mkdtemp(join(tmpdir(), 'tollgate-test-')));
  const config = readConfig({
    NODE_ENV: 'test',
    PORT: '0',
    DATA_DIR: dataDir,
    DATABASE_POOL_SIZE: '10',
    EGRESS_ALLOW: '127.0.0.1/32:*',
    ...env,
  });
  const pooledUrl = env?.DATABASE_DIRECT_URL ? undefined : throughPooler(databaseUrl);
  const app: App = await startApp({
    config: { ...config, ...(pooledUrl && { databaseDirectUrl: databaseUrl }), ...changes },
    databaseUrl: pooledUrl ?? databaseUrl,
    log: log ?? pino({ level: process.env.TEST_LOG ?? 'silent' }),
    // A busy machine may need longer than callers would wait.
    overrides: { operationMilliseconds: 60_000, ...overrides },
  });
  const issuer: DevIssuer = await openDevIssuer({ dataDir });

  return {
    url: app.url,
    http: app.http.server,
    databaseUrl,
    dataDir,
    issuer,
    /**
     * A user of the dev issuer. The default tier is `PRO`, so that the user can create connectors.
     *
     * @param email a verified address.
     */
    async user(subject: string, tier: Tier = 'PRO', email?: string): Promise<TestUser> {
      return caller(app.url, subject, await issuer.sign({ subject, tier, email }));
    },
    /** A caller with this credential, such as an API key. */
    caller: (credential: string): TestUser => caller(app.url, '', credential),
    async stop(): Promise<void> {
      await app.stop();
      await database?.drop();
      if (!givenFolder) await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** The URL of a database through the pooler of the test run, if there is one. A proxy keeps its own URL. */
function throughPooler(databaseUrl: string): string | undefined {
  const pooler = inject('poolerUrl');
  const url = new URL(databaseUrl);
  if (!pooler || url.host !== new URL(inject('postgresUrl')).host) return undefined;
  url.host = new URL(pooler).host;
  return url.href;
}

/** Returns a caller for a service, with this credential. */
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
      return (await response.json()) as GraphQLResponse<T>;
    },
  };
}
