import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import { databaseUrl } from './database-url.ts';

export type TestDatabase = { url: string; drop(): Promise<void> };

/** A database of its own for a test file, with all migrations applied: a clone of the run's template. */
export async function createTestDatabase(): Promise<TestDatabase> {
  return cloneDatabase('tollgate_template');
}

/** A database of its own without any table. */
export async function createEmptyDatabase(): Promise<TestDatabase> {
  return cloneDatabase('template0');
}

async function cloneDatabase(template: string): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  const serverUrl = inject('postgresUrl');
  await runOnServer(serverUrl, `CREATE DATABASE ${name} TEMPLATE ${template}`);
  return {
    url: databaseUrl(serverUrl, name),
    drop: () => dropDatabase(serverUrl, name),
  };
}

/** Gives connections that are just being closed the time they need, since ending them by force is an error to their owner. */
async function dropDatabase(serverUrl: string, name: string): Promise<void> {
  await runOnServer(serverUrl, `DROP DATABASE ${name}`).catch(async (error) => {
    // 55006, object_in_use: after waiting for 5 s.
    if (error.code !== '55006') throw error;
    await runOnServer(serverUrl, `DROP DATABASE ${name} WITH (FORCE)`);
  });
}

/** Runs a statement over a connection of its own. */
export async function runOnServer(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
