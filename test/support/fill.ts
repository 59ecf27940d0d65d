import type pg from 'pg';
import { newId } from '../../src/ids.ts';
import { WALLET } from './resources.ts';

const idsOf = (type: 'ApiKey' | 'Endpoint' | 'Project', count: number) =>
  Array.from({ length: count }, () => newId(type));

/** Adds endpoints to a project directly in the database, so that a test can start just below a limit. */
export async function insertEndpoints(pool: pg.Pool, projectId: string, count: number): Promise<string[]> {
  const ids = idsOf('Endpoint', count);
  await pool.query(
    `INSERT INTO "Endpoint" ("id", "projectId", "path", "upstreamUrl", "priceAtomic")
     SELECT id, $2, '/filled/' || id, 'https://api.example.com/', 10000 FROM unnest($1::text[]) AS id`,
    [ids, projectId],
  );
  return ids;
}

/** Adds API keys to a project, in the same way. */
export async function insertApiKeys(pool: pg.Pool, projectId: string, count: number): Promise<string[]> {
  const ids = idsOf('ApiKey', count);
  await pool.query(
    `INSERT INTO "ApiKey" ("id", "projectId", "name", "environment", "scopes", "hash", "last4", "createdById")
     SELECT id, $2, 'Filled', 'TEST', '{READ}', id, 'fill', (SELECT "userId" FROM "Project" WHERE "id" = $2)
       FROM unnest($1::text[]) AS id`,
    [ids, projectId],
  );
  return ids;
}

/** Adds projects to the account that owns a project, in the same way. */
export async function insertProjects(pool: pg.Pool, ownersProjectId: string, count: number): Promise<string[]> {
  const ids = idsOf('Project', count);
  await pool.query(
    `INSERT INTO "Project" ("id", "userId", "name", "walletAddress")
     SELECT id, (SELECT "userId" FROM "Project" WHERE "id" = $2), 'Filled', $3 FROM unnest($1::text[]) AS id`,
    [ids, ownersProjectId, WALLET],
  );
  return ids;
}
