import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sweepInvitations } from '../../../src/features/members/invitations/sweep.ts';
import { sweepTransfers } from '../../../src/features/members/transfers/sweep.ts';
import { newId } from '../../../src/ids.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

let database: TestDatabase;
let sql: pg.Pool;

beforeAll(async () => {
  database = await createTestDatabase();
  sql = new pg.Pool({ connectionString: database.url, max: 1 });
});
afterAll(async () => {
  await sql?.end();
  await database?.drop();
});

async function addProject(subject: string): Promise<string> {
  const [userId, projectId] = [newId('User'), newId('Project')];
  await sql.query(`INSERT INTO "User" ("id", "issuer", "subject") VALUES ($1, 'https://issuer.test', $2)`, [
    ...[userId, subject],
  ]);
  await sql.query(`INSERT INTO "Project" ("id", "userId", "name", "walletAddress") VALUES ($1, $2, 'x', '0x')`, [
    ...[projectId, userId],
  ]);
  return projectId;
}

test('invitations are deleted a month after they were answered or expired, and open ones stay', async () => {
  const projectId = await addProject('alice');
  const rows = [
    ['answered long ago', 'ACCEPTED', '-31 days', '-40 days'],
    ['answered', 'ACCEPTED', '-29 days', '-40 days'],
    ['expired long ago', 'PENDING', null, '-31 days'],
    ['expired', 'PENDING', null, '-29 days'],
    ['open', 'PENDING', null, '7 days'],
  ];
  for (const [name, status, ended, expires] of rows) {
    await sql.query(
      `INSERT INTO "Invitation" ("id", "projectId", "email", "role", "status", "invitedById", "invitedByName", "endedAt", "expiresAt")
       VALUES ($1, $2, $3, 'VIEWER', $4::"InvitationStatus", 'x', 'x', now() + $5::interval, now() + $6::interval)`,
      [newId('Invitation'), projectId, name, status, ended, expires],
    );
  }
  await sweepInvitations(sql);
  const { rows: left } = await sql.query('SELECT "email" FROM "Invitation" ORDER BY "email"');
  expect(left.map(({ email }) => email)).toEqual(['answered', 'expired', 'open']);
});

test('an offer to transfer a project ends when it expires, with its notice, and is deleted a month later', async () => {
  const projectId = await addProject('bob');
  await sql.query(
    `INSERT INTO "ProjectTransfer" ("id", "projectId", "name", "offeredById", "offeredByName", "expiresAt")
     VALUES ($1, $2, 'carol', 'x', 'x', now() + interval '1 hour')`,
    [newId('ProjectTransfer'), projectId],
  );
  const look = async () => {
    await sweepTransfers(sql);
    const { rows: offers } = await sql.query('SELECT "status" FROM "ProjectTransfer"');
    const { rows: notices } = await sql.query(
      `SELECT "type", "closedAt" IS NULL AS "isOpen" FROM "Notice" WHERE "projectId" = $1`,
      [projectId],
    );
    return [offers.map(({ status }) => status), notices.map(({ type, isOpen }) => [type, isOpen])];
  };
  const letPass = (interval: string) =>
    sql.query(
      `UPDATE "ProjectTransfer" SET "expiresAt" = "expiresAt" - $1::interval, "endedAt" = "endedAt" - $1::interval`,
      [interval],
    );
  expect(await look()).toEqual([['PENDING'], [['transfer.offered', true]]]);
  await letPass('2 hours');
  expect(await look()).toEqual([['EXPIRED'], [['transfer.offered', false]]]);
  await letPass('31 days');
  expect(await look()).toEqual([[], [['transfer.offered', false]]]);
});
