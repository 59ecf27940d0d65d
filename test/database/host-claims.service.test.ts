import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import pino from 'pino';
import { expect, test } from 'vitest';
import { applyMigrations, MIGRATIONS } from '../../src/database/migrations.ts';
import { createEmptyDatabase } from '../support/database.ts';

test('hosts from before the upgrade count as verified, and their first check comes one to two days later', async () => {
  const database = await createEmptyDatabase();
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-hosts-'));
  const sql = new pg.Client({ connectionString: database.url });
  const log = pino({ level: 'silent' });
  try {
    const older = (await readdir(MIGRATIONS)).filter((name) => /^\d{14}_/.test(name) && name < '20261124087000');
    for (const name of [...older, 'migration_lock.toml'])
      await cp(join(MIGRATIONS, name), join(folder, name), { recursive: true });
    await applyMigrations(database.url, folder, log);
    await sql.connect();
    await sql.query(`INSERT INTO "User" ("id", "issuer", "subject") VALUES ('usr_1', 'i', 's')`);
    await sql.query(
      `INSERT INTO "Project" ("id", "userId", "name", "walletAddress", "gatewayHost")
       VALUES ('proj_1', 'usr_1', 'Shop', '0x1', 'api.shop.com'), ('proj_2', 'usr_1', 'Kiosk', '0x1', 'kiosk.com'),
         ('proj_3', 'usr_1', 'None', '0x1', NULL)`,
    );
    await applyMigrations(database.url, MIGRATIONS, log);
    const { rows } = await sql.query(
      `SELECT c."projectId", c."host", length(c."token") AS "tokenLength", c."verifiedAt" IS NOT NULL AS "isVerified",
         c."nextCheckAt" BETWEEN now() + interval '23 hours' AND now() + interval '48 hours' AS "isLater",
         p."gatewayHost", p."claimedHost"
       FROM "HostClaim" c JOIN "Project" p ON p."id" = c."projectId" ORDER BY 1`,
    );
    const proved = { tokenLength: 64, isVerified: true, isLater: true, claimedHost: null };
    expect(rows).toEqual([
      { ...proved, projectId: 'proj_1', host: 'api.shop.com', gatewayHost: 'api.shop.com' },
      { ...proved, projectId: 'proj_2', host: 'kiosk.com', gatewayHost: 'kiosk.com' },
    ]);
    const { rows: tokens } = await sql.query('SELECT DISTINCT "token" FROM "HostClaim"');
    expect(tokens).toHaveLength(2);
    // A process still running the previous version writes projects without the new columns.
    await sql.query(`UPDATE "Project" SET "gatewayHost" = 'new.com' WHERE "id" = 'proj_3'`);
  } finally {
    await sql.end();
    await rm(folder, { recursive: true, force: true });
    await database.drop();
  }
});
