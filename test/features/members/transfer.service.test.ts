import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MOVE_ENTRIES } from '../../../src/audit/move.ts';
import { runStatement } from '../../../src/database/statement.ts';
import { DELETED_USER_ID } from '../../../src/features/deletions/soft-delete.ts';
import { sweepTransfers } from '../../../src/features/members/transfers/sweep.ts';
import { newId } from '../../../src/ids.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { invite, join, person } from '../../support/members.ts';
import { operatorsEnv, userIdOf } from '../../support/operator.ts';
import { createConnector, createKey, createProject, type Resource } from '../../support/resources.ts';

type List<T = Resource> = { data: T[] };

let app: TestApp;
let sql: pg.Pool;
let alice: TestUser;
let olga: TestUser;
let people = 0;

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api', ...operatorsEnv('olga') } });
  sql = new pg.Pool({ connectionString: app.databaseUrl, max: 1 });
  alice = await person(app, 'alice', 'ENTERPRISE');
  olga = await app.user('olga');
});
afterAll(async () => {
  await sql?.end();
  await app?.stop();
});

const someone = (name: string, tier: 'STARTER' | 'PRO' | 'ENTERPRISE' = 'ENTERPRISE') =>
  person(app, `${name}${++people}`, tier);
const addressOf = ({ subject }: TestUser) => `${subject}@example.com`;

const offer = (user: TestUser, base: string, to: object) => user.rest<Resource>('POST', `${base}/transfer`, to);
const offersTo = async (user: TestUser) => (await user.rest<List>('GET', '/api/transfers')).body.data;
const answer = (user: TestUser, id: string, verb: 'accept' | 'decline') =>
  user.rest<Resource>('POST', `/api/transfers/${id}/${verb}`);
const roleOf = async (user: TestUser, base: string) =>
  (await user.rest<{ viewerRole?: string }>('GET', base)).body.viewerRole;
const noticesOf = async (user: TestUser, base: string) =>
  (await user.rest<List<{ type: string; title: string; closedAt: string | null }>>('GET', `${base}/notices`)).body.data;

/** Offers a project and accepts the offer. */
async function transfer(owner: TestUser, base: string, heir: TestUser): Promise<void> {
  const { status, body } = await offer(owner, base, { email: addressOf(heir) });
  expect(status, JSON.stringify(body)).toBe(200);
  expect((await answer(heir, body.id, 'accept')).status).toBe(200);
}

describe('an offered project', () => {
  test('changes its owner only when the new owner accepts, and the previous one becomes an admin', async () => {
    const { base, id: projectId, walletAddress } = await createProject(alice);
    const bob = await someone('bob');
    const member = await join(alice, base, bob, 'VIEWER');
    const offered = await offer(alice, base, { memberId: member.id });
    const shown = {
      projectId,
      projectName: 'Weather',
      userId: member.userId,
      email: addressOf(bob),
      name: bob.subject,
      offeredByName: 'alice@example.com',
      expiresAt: expect.any(String),
    };
    expect(offered).toMatchObject({ status: 200, body: { ...shown, projectName: expect.any(String) } });
    expect(Date.parse(offered.body.expiresAt as string) - Date.now()).toBeGreaterThan(6.9 * 86_400_000);
    expect([await roleOf(alice, base), await roleOf(bob, base)]).toEqual(['OWNER', 'VIEWER']);
    expect((await bob.rest('GET', `${base}/transfer`)).body).toEqual(offered.body);
    expect(await offersTo(bob)).toEqual([offered.body]);

    const accepted = await answer(bob, offered.body.id, 'accept');
    expect(accepted).toMatchObject({ status: 200, body: { id: projectId, viewerRole: 'OWNER', walletAddress } });
    expect([await roleOf(alice, base), await roleOf(bob, base)]).toEqual(['ADMIN', 'OWNER']);
    const { body } = await bob.rest<List>('GET', `${base}/members`);
    expect(body.data).toMatchObject([{ name: 'alice', role: 'ADMIN', email: null }]);
    expect((await alice.rest('DELETE', base)).status).toBe(403);
    expect((await bob.rest('DELETE', `${base}/members/${body.data[0]!.id}`)).status).toBe(204);
    expect((await alice.rest('GET', base)).status).toBe(404);
    expect((await answer(bob, offered.body.id, 'accept')).status).toBe(404);
  });

  test('can be offered to an address, and only the person who has it sees the offer', async () => {
    const { base } = await createProject(alice);
    const [bob, mallory] = [await someone('bob'), await someone('mallory')];
    const { body } = await offer(alice, base, { email: addressOf(bob).toUpperCase() });
    expect(body).toMatchObject({ userId: null, email: addressOf(bob), name: addressOf(bob) });
    expect(await offersTo(mallory)).toEqual([]);
    const unverified = await app.user(bob.subject);
    for (const other of [mallory, unverified, alice]) {
      for (const verb of ['accept', 'decline'] as const) expect((await answer(other, body.id, verb)).status).toBe(404);
    }
    expect((await bob.rest('GET', base)).status).toBe(404);
    expect((await answer(bob, body.id, 'accept')).status).toBe(200);
    expect(await roleOf(bob, base)).toBe('OWNER');
  });

  test('stays with its owner if the person declines, and can then be offered to someone else', async () => {
    const { base } = await createProject(alice);
    const [bob, carol] = [await someone('bob'), await someone('carol')];
    const first = await offer(alice, base, { email: addressOf(bob) });
    const second = await offer(alice, base, { email: addressOf(carol) });
    expect(second).toMatchObject({ status: 409, body: { detail: expect.stringContaining(addressOf(bob)) } });
    expect(await answer(bob, first.body.id, 'decline')).toMatchObject({
      status: 200,
      body: { transferId: first.body.id },
    });
    expect((await answer(bob, first.body.id, 'accept')).status).toBe(404);
    expect((await alice.rest('GET', `${base}/transfer`)).status).toBe(404);
    await transfer(alice, base, carol);
    expect(await roleOf(carol, base)).toBe('OWNER');
  });

  test('can no longer be accepted once the owner withdraws the offer or removes the member', async () => {
    const { base } = await createProject(alice);
    const bob = await someone('bob');
    const member = await join(alice, base, bob, 'ADMIN');
    const first = await offer(alice, base, { memberId: member.id });
    expect((await bob.rest('DELETE', `${base}/transfer`)).status).toBe(403);
    expect((await alice.rest('DELETE', `${base}/transfer`)).status).toBe(204);
    expect((await answer(bob, first.body.id, 'accept')).status).toBe(404);
    expect((await alice.rest('DELETE', `${base}/transfer`)).status).toBe(404);
    const second = await offer(alice, base, { email: addressOf(bob) });
    expect(second.body.userId).toBe(member.userId);
    await alice.rest('DELETE', `${base}/members/${member.id}`);
    expect((await answer(bob, second.body.id, 'accept')).status).toBe(404);
    expect(await roleOf(alice, base)).toBe('OWNER');
  });

  test('can no longer be accepted once a member is removed who joined after it was offered to their address', async () => {
    const { base } = await createProject(alice);
    const [bob, carol] = [await someone('bob'), await someone('carol')];
    const { body } = await offer(alice, base, { email: addressOf(bob) });
    const members = [await join(alice, base, carol, 'ADMIN'), await join(alice, base, bob, 'DEVELOPER')];
    await alice.rest('DELETE', `${base}/members/${members[0]!.id}`);
    expect((await offersTo(bob)).map(({ id }) => id)).toEqual([body.id]);
    await alice.rest('DELETE', `${base}/members/${members[1]!.id}`);
    expect((await answer(bob, body.id, 'accept')).status).toBe(404);
    expect((await alice.rest('GET', `${base}/transfer`)).status).toBe(404);
    expect(await roleOf(alice, base)).toBe('OWNER');
  });

  test('can no longer be accepted once its former owner is removed, even if it was offered or shared by address', async () => {
    const { base } = await createProject(alice);
    const bob = await someone('bob');
    await transfer(alice, base, bob);
    const offered = await offer(bob, base, { email: 'alice@example.com' });
    const invitation = await invite(bob, base, alice, 'VIEWER');
    const { body } = await bob.rest<List>('GET', `${base}/members`);
    expect((await bob.rest('DELETE', `${base}/members/${body.data[0]!.id}`)).status).toBe(204);
    expect((await alice.rest('POST', `/api/invitations/${invitation.id}/accept`)).status).toBe(404);
    expect((await answer(alice, offered.body.id, 'accept')).status).toBe(404);
    expect((await alice.rest('GET', base)).status).toBe(404);
  });

  test('opens a notice for everyone in the project, and so does the response', async () => {
    const { base } = await createProject(alice);
    const bob = await someone('bob');
    const declined = await offer(alice, base, { email: addressOf(bob) });
    expect(await noticesOf(alice, base)).toMatchObject([
      { type: 'transfer.offered', title: `The project has been offered to ${addressOf(bob)}`, closedAt: null },
    ]);
    await answer(bob, declined.body.id, 'decline');
    await transfer(alice, base, bob);
    for (const user of [alice, bob]) {
      expect((await noticesOf(user, base)).map(({ type, closedAt }) => [type, closedAt !== null])).toEqual([
        ...[
          ['transfer.accepted', true],
          ['transfer.declined', true],
          ['transfer.offered', true],
        ],
      ]);
    }
  });

  test('is in both accounts’ audit logs, and the project’s log moves to the new owner, even if the project is later deleted', async () => {
    const [owner, bob] = [await someone('owner'), await someone('bob')];
    const { base, id } = await createProject(owner);
    await transfer(owner, base, bob);
    await bob.rest('DELETE', base);
    const logOf = async (user: TestUser, path = '/api/audit-log') =>
      (await user.rest<List<{ projectId: string; action: string; actorName: string }>>('GET', path)).body.data;
    expect((await logOf(bob)).map(({ action, actorName }) => [action, actorName])).toEqual([
      ['project.deleted', bob.subject],
      ['project.transferred', bob.subject],
      ['transfer.offered', owner.subject],
      ['project.created', owner.subject],
    ]);
    const left = [{ projectId: null, action: 'project.transferred', targetId: id, actorName: bob.subject }];
    expect(await logOf(owner)).toMatchObject(left);
    expect(await logOf(owner, '/api/audit-log/account')).toMatchObject(left);
    expect(await logOf(bob, '/api/audit-log/account')).toEqual([]);
  });

  test('revokes the new owner’s open invitation, which is in the audit log', async () => {
    const { base } = await createProject(alice);
    const bob = await someone('bob');
    const invitation = await invite(alice, base, bob, 'VIEWER');
    await transfer(alice, base, bob);
    expect((await bob.rest<List>('GET', `${base}/invitations`)).body.data).toEqual([]);
    const { body } = await bob.rest<List>('GET', `${base}/audit-log?action=invitation.revoked`);
    expect(body.data).toMatchObject([{ targetId: invitation.id, actorName: bob.subject }]);
  });

  test('moves only the newest entries of a long log immediately, so that nobody waits for the others, which follow', async () => {
    const [owner, bob] = [await someone('owner'), await someone('bob')];
    const { base, id } = await createProject(owner);
    await sql.query(
      `INSERT INTO "AuditEntry" ("id", "userId", "projectId", "actorKind", "actorId", "actorName", "action", "targetId", "changes")
       SELECT new_id('aud'), "userId", "id", 'USER', "userId", 'x', 'mcp.tool_called', "id", '{}' FROM "Project", generate_series(1, 5100) WHERE "id" = $1`,
      [id],
    );
    await transfer(owner, base, bob);
    const countOf = async (user: TestUser) => {
      const { rows } = await sql.query(
        `SELECT count(*)::int AS count FROM "AuditEntry" a JOIN "User" u ON u."id" = a."userId" WHERE a."projectId" = $1 AND u."subject" = $2`,
        [id, user.subject],
      );
      return rows[0].count;
    };
    expect([await countOf(owner), await countOf(bob)]).toEqual([102, 5001]);
    // If the project is deleted while its log moves, the rest stays where someone can read it.
    await sql.query('BEGIN');
    await sql.query(`UPDATE "Project" SET "userId" = $1 WHERE "id" = $2`, [DELETED_USER_ID, id]);
    const { rowCount } = await runStatement(sql, MOVE_ENTRIES(id, await userIdOf(owner), 100));
    await sql.query('ROLLBACK');
    expect(rowCount).toBe(0);
    await sweepTransfers(sql);
    expect([await countOf(owner), await countOf(bob)]).toEqual([0, 5103]);
  });

  test('keeps its API keys, which count against the new owner’s rate limit', async () => {
    const { base } = await createProject(alice);
    const bob = await someone('bob', 'STARTER');
    const key = app.caller((await createKey(alice, base)).key);
    expect((await key.rest('GET', base)).headers.get('ratelimit')).toBeNull();
    await transfer(alice, base, bob);
    const { status, headers } = await key.rest('GET', base);
    expect([status, headers.get('ratelimit')]).toEqual([200, expect.any(String)]);
  });
});

describe('a transfer', () => {
  test('is rejected unless the owner offers the project to one other person', async () => {
    const { base } = await createProject(alice);
    const bob = await someone('bob');
    const member = await join(alice, base, bob, 'ADMIN');
    expect((await offer(bob, base, { memberId: member.id })).status).toBe(403);
    expect((await offer(await someone('mallory'), base, { memberId: member.id })).status).toBe(404);
    expect((await offer(alice, base, { memberId: newId('ProjectMember') })).status).toBe(404);
    expect((await offer(alice, base, { email: 'alice@example.com' })).status).toBe(409);
    for (const to of [{}, { memberId: member.id, email: addressOf(bob) }, { email: 'bob' }]) {
      expect((await offer(alice, base, to)).status, JSON.stringify(to)).toBe(422);
    }
    const other = await createProject(alice);
    expect((await offer(alice, other.base, { memberId: member.id })).status).toBe(404);
    const { key } = await createKey(alice, base);
    expect((await offer(app.caller(key), base, { memberId: member.id })).status).toBe(403);
  });

  test('is rejected if the new owner’s tier has no room for the connectors, and the offer stays open', async () => {
    const { base } = await createProject(alice);
    const bob = await someone('bob', 'STARTER');
    await createConnector(alice, base);
    const { body } = await offer(alice, base, { email: addressOf(bob) });
    expect(await answer(bob, body.id, 'accept')).toMatchObject({
      status: 403,
      body: { code: 'CONNECTOR_LIMIT_REACHED' },
    });
    expect(await roleOf(alice, base)).toBe('OWNER');
    const upgraded = await person(app, bob.subject, 'PRO');
    expect((await answer(upgraded, body.id, 'accept')).status).toBe(200);
  });

  test('is rejected while the owner’s account is blocked, so nobody can get around a block by transferring a project', async () => {
    const owner = await someone('owner');
    const { base } = await createProject(owner);
    const bob = await someone('bob');
    const { body } = await offer(owner, base, { email: addressOf(bob) });
    const ownerId = await userIdOf(owner);
    await olga.rest('POST', `/api/operator/users/${ownerId}/block`, { reason: 'Unpaid invoice.' });
    const refused = await answer(bob, body.id, 'accept');
    expect(refused).toMatchObject({ status: 403, body: { code: 'ACCOUNT_BLOCKED' } });
    expect(JSON.stringify(refused.body)).not.toContain('Unpaid');
    await olga.rest('POST', `/api/operator/users/${ownerId}/unblock`);
    expect((await answer(bob, body.id, 'accept')).status).toBe(200);
  });

  test('is rejected for one of two responses that arrive at the same time', async () => {
    const { base } = await createProject(alice);
    const bob = await someone('bob');
    const { body } = await offer(alice, base, { email: addressOf(bob) });
    const answers = await Promise.all([answer(bob, body.id, 'accept'), answer(bob, body.id, 'decline')]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 404]);
  });
});
