import pg from 'pg';
import { ID_PREFIXES, idAlongside, newId } from '../../src/ids.ts';
import type { TestApp, TestUser } from '../support/app.ts';
import { join } from '../support/members.ts';
import { userIdOf } from '../support/operator.ts';
import { insertPayment } from '../support/payments.ts';
import {
  createConnector,
  createEndpoint,
  createKey,
  createProject,
  createWebhook,
  EVERY_SCOPE,
  GOOD,
} from '../support/resources.ts';

/** Everything that has an identifier and belongs to a tenant. */
const OWNED_TYPES = [
  ...(['Project', 'Endpoint', 'ApiKey', 'Webhook', 'Connector', 'Event', 'Delivery', 'Attempt', 'User'] as const),
  ...(['Payment', 'Customer', 'Replay', 'AuditEntry', 'Notice', 'ProjectMember', 'Invitation'] as const),
  ...(['ProjectTransfer', 'Viewer'] as const),
];
export type OwnedType = (typeof OWNED_TYPES)[number];
export type Ids = Record<OwnedType, string>;

/** A project with one of every resource, an API key for it, and the mark that all its text contains. */
export type Home = { ids: Ids; mark: string; key: string };

const WRONG_TYPES = ['wrongTypeOwn', 'wrongTypeForeign', 'wrongTypeMissing'] as const;

/** How the identifier in a request relates to the caller. */
export const VARIANTS = ['foreign', 'missing', 'deleted', 'malformed', 'miscased', ...WRONG_TYPES] as const;
export type Variant = (typeof VARIANTS)[number];

/** A caller who can only see their own home, and the identifiers to use in requests. */
export type Stranger = { caller: TestUser; home: Home; ids: Record<Variant | 'own', Ids> };

export type Tenants = Awaited<ReturnType<typeof createTenants>>;

/**
 * Creates two tenants. Bob has a project that nobody else can see. Bob can be made an operator, and then
 * `subordinateId` is a user that he can change. The strangers are Alice, one of Alice's API keys, an API key for
 * another of Bob's projects, and Dana, who is an admin of that project.
 */
export async function createTenants(app: TestApp) {
  const sql = new pg.Pool({ connectionString: app.databaseUrl, max: 2 });
  // These accounts have no rate limit, because rate limit headers would differ between responses.
  const bob = await app.user('bob', 'ENTERPRISE');
  const alice = await app.user('alice', 'ENTERPRISE');
  const secret = await furnish(sql, bob, 'plantedmark');
  const aliceHome = await furnish(sql, alice, 'alicemark');
  const bobHome = await furnish(sql, bob, 'bobmark');
  const dana = await app.user('dana', 'ENTERPRISE', 'dana@example.com');
  await join(bob, `/api/projects/${bobHome.ids.Project}`, dana, 'ADMIN');

  /** @param others resources that provide identifiers of the wrong type. */
  async function stranger(caller: TestUser, owner: TestUser, home: Home, others = home.ids): Promise<Stranger> {
    const deleted = await furnish(sql, owner, 'deletedmark', home.ids.Project);
    await demolish(sql, owner, deleted.ids, home.ids.Project);
    return {
      caller,
      home,
      ids: {
        own: home.ids,
        // An API key can see the account of its project's owner.
        foreign: owner === bob ? { ...secret.ids, User: aliceHome.ids.User } : secret.ids,
        missing: mapIds((type) => newId(type)),
        deleted: deleted.ids,
        malformed: mapIds((type) => `${ID_PREFIXES[type]}-none`),
        miscased: mapIds((type) => secret.ids[type].toUpperCase()),
        wrongTypeOwn: mapIds((type) => others[otherType(type)]),
        wrongTypeForeign: mapIds((type) => secret.ids[otherType(type)]),
        wrongTypeMissing: mapIds((type) => newId(otherType(type))),
      },
    };
  }

  const strangers: Record<string, Stranger> = {
    'another user': await stranger(alice, alice, aliceHome),
    'an API key of another tenant': await stranger(app.caller(aliceHome.key), alice, aliceHome),
    'an API key of another project of the same user': await stranger(app.caller(bobHome.key), bob, bobHome),
    // In their own project, a member without a sufficient role gets an error that says so.
    'a member of another project of the same user': await stranger(dana, bob, bobHome, mapIds(newId)),
  };
  return {
    bob,
    secret,
    strangers,
    subordinateId: await userIdOf(await app.user('subordinate')),
    /** Creates another home for Bob, for requests that succeed. */
    furnish: (mark: string) => furnish(sql, bob, mark),
    snapshot: () => snapshot(sql),
    close: () => sql.end(),
  };
}

const mapIds = (idOf: (type: OwnedType) => string) =>
  Object.fromEntries(OWNED_TYPES.map((type) => [type, idOf(type)])) as Ids;

async function furnish(sql: pg.Pool, user: TestUser, mark: string, projectId?: string): Promise<Home> {
  const gatewayHost = `${mark}-${newId('Project').slice(-8)}.example`;
  const base = projectId
    ? `/api/projects/${projectId}`
    : (await createProject(user, { name: `${mark} shop`, gatewayHost })).base;
  const description = `${mark} description`;
  // The key has all scopes, so that it is rejected only because of its project.
  const key = await createKey(user, base, { name: `${mark} key`, ...EVERY_SCOPE });
  const webhook = await createWebhook(user, base, { url: `https://hooks.example.com/${mark}`, description });
  const connector = await createConnector(user, base, {
    type: 'email',
    config: { apiKey: `SG.${mark}.secret`, from: `${mark}@example.com`, to: [`${mark}@example.com`] },
  });
  const endpoint = await createEndpoint(user, base, {
    path: `/${mark}`,
    upstreamUrl: `https://api.example.com/${mark}`,
    description,
  });
  // The endpoint caused an event with a delivery to each destination. No worker runs that would record results.
  const { rows } = await sql.query(
    `UPDATE "Delivery" SET reason = $3, "errorClass" = $3, status = 'FAILED', "nextAttemptAt" = NULL, "attemptCount" = 1
      WHERE "webhookId" = $1 OR "connectorId" = $2 RETURNING id, "eventId", "projectId", "webhookId",
        (SELECT "userId" FROM "Project" WHERE id = "Delivery"."projectId") AS "userId"`,
    [webhook.id, connector.id, `${mark} reason`],
  );
  const delivery = rows.find(({ webhookId }) => webhookId === webhook.id);
  const attemptId = newId('Attempt');
  await sql.query(
    `INSERT INTO "Attempt" (id, "deliveryId", number, trigger, "startedAt", "durationMs", "errorClass", "errorMessage", "responseBody")
     VALUES ($1, $2, 1, 'SCHEDULED', now(), 5, $3, $3, $3)`,
    [attemptId, delivery.id, `${mark} answer`],
  );
  const replayId = newId('Replay');
  await sql.query(
    `INSERT INTO "Replay" (id, "projectId", filter, "maxPerSecond", total, "startedBy", status, "finishedAt")
     VALUES ($1, $2, $3, 1, 1, $4, 'COMPLETED', now())`,
    [replayId, delivery.projectId, JSON.stringify({ eventTypes: [mark] }), delivery.userId],
  );
  const { paymentId, customerId } = await insertPayment(sql, {
    projectId: delivery.projectId,
    endpointId: endpoint.id,
    mark,
  });
  const noticeId = newId('Notice');
  await sql.query(
    `INSERT INTO "Notice" (id, "projectId", type, "subjectId", subject) VALUES ($1, $2, 'destination.paused', $3, $4)`,
    [noticeId, delivery.projectId, webhook.id, mark],
  );
  const memberId = await insertMember(sql, delivery.projectId, mark);
  const invitationId = await insertInvitation(sql, delivery.projectId, mark);
  const transferId = await insertTransfer(sql, delivery.projectId, mark);
  if (!projectId) {
    await user.rest('PATCH', `${base}/contacts`, { emails: [`${mark}@example.com`] });
    await user.rest('POST', `${base}/buyer-rules/deny`, { walletAddress: walletOf(mark) });
  }
  const { rows: entries } = await sql.query('SELECT id FROM "AuditEntry" WHERE "targetId" = $1', [webhook.id]);
  return {
    mark,
    key: key.key,
    ids: {
      Project: delivery.projectId,
      Endpoint: endpoint.id,
      ApiKey: key.id,
      Webhook: webhook.id,
      Connector: connector.id,
      Event: delivery.eventId,
      Delivery: delivery.id,
      Attempt: attemptId,
      User: delivery.userId,
      Viewer: idAlongside('Viewer', delivery.userId),
      Payment: paymentId,
      Customer: customerId,
      Replay: replayId,
      AuditEntry: entries[0].id,
      Notice: noticeId,
      ProjectMember: memberId,
      Invitation: invitationId,
      ProjectTransfer: transferId,
    },
  };
}

/** A wallet whose address contains the mark, in hex. */
export function walletOf(mark: string): string {
  return `0x${Buffer.from(mark).toString('hex').slice(0, 40).padEnd(40, '0')}`;
}

async function insertMember(sql: pg.Pool, projectId: string, mark: string): Promise<string> {
  const [id, userId] = [newId('ProjectMember'), newId('User')];
  await sql.query('INSERT INTO "User" (id, issuer, subject) VALUES ($1, $2, $1)', [userId, `https://${mark}.example`]);
  await sql.query(
    `INSERT INTO "ProjectMember" (id, "projectId", "userId", role, name, email) VALUES ($1, $2, $3, 'VIEWER', $4, $4)`,
    [id, projectId, userId, `${mark}-member@example.com`],
  );
  return id;
}

async function insertInvitation(sql: pg.Pool, projectId: string, mark: string): Promise<string> {
  const id = newId('Invitation');
  await sql.query(
    `INSERT INTO "Invitation" (id, "projectId", email, role, "invitedById", "invitedByName", "expiresAt")
     VALUES ($1, $2, $3, 'VIEWER', $4, $5, now() + interval '1 day')`,
    [id, projectId, `${mark}-guest@example.com`, newId('User'), mark],
  );
  return id;
}

/** A project can have only one open offer. */
async function insertTransfer(sql: pg.Pool, projectId: string, mark: string): Promise<string> {
  const id = newId('ProjectTransfer');
  await sql.query(
    `INSERT INTO "ProjectTransfer" (id, "projectId", email, name, status, "offeredById", "offeredByName", "expiresAt")
     SELECT $1, $2, $3, $3, CASE WHEN EXISTS (SELECT FROM "ProjectTransfer" WHERE "projectId" = $2) THEN 'DECLINED'
       ELSE 'PENDING' END::"TransferStatus", $4, $5, now() + interval '1 day'`,
    [id, projectId, `${mark}-heir@example.com`, newId('User'), mark],
  );
  return id;
}

/** Deletes what `furnish` added to a project. Keeps that project, but deletes a new one to get a deleted ID. */
async function demolish(sql: pg.Pool, user: TestUser, ids: Ids, projectId: string): Promise<void> {
  const base = `/api/projects/${projectId}`;
  const another = await createProject(user, GOOD.project);
  const paths = [
    ...[`${base}/endpoints/${ids.Endpoint}`, `${base}/keys/${ids.ApiKey}`, `${base}/webhooks/${ids.Webhook}`],
    ...[`${base}/connectors/${ids.Connector}`, another.base],
  ];
  for (const path of paths) await user.rest('DELETE', path);
  // Events remain after their resource is deleted.
  await sql.query('DELETE FROM "Delivery" WHERE "eventId" = $1', [ids.Event]);
  await sql.query('DELETE FROM "Event" WHERE id = $1', [ids.Event]);
  // Payments also remain. Only deleting the project deletes them.
  await sql.query('DELETE FROM "Payment" WHERE id = $1', [ids.Payment]);
  await sql.query('DELETE FROM "Customer" WHERE id = $1', [ids.Customer]);
  await sql.query('DELETE FROM "Replay" WHERE id = $1', [ids.Replay]);
  // Only the owner of the table can delete an entry, by turning its triggers off.
  await sql.query('ALTER TABLE "AuditEntry" DISABLE TRIGGER USER');
  await sql.query('DELETE FROM "AuditEntry" WHERE id = $1', [ids.AuditEntry]);
  await sql.query('ALTER TABLE "AuditEntry" ENABLE ALWAYS TRIGGER "AuditEntry_kept"');
  await sql.query('DELETE FROM "Notice" WHERE id = $1', [ids.Notice]);
  await sql.query('DELETE FROM "ProjectMember" WHERE id = $1', [ids.ProjectMember]);
  await sql.query('DELETE FROM "Invitation" WHERE id = $1', [ids.Invitation]);
  await sql.query('DELETE FROM "ProjectTransfer" WHERE id = $1', [ids.ProjectTransfer]);
  await sql.query('DELETE FROM "RevenueDay" WHERE "endpointId" = $1', [ids.Endpoint]);
  ids.Project = another.id;
  ids.User = newId('User');
  ids.Viewer = newId('Viewer');
}

/** Returns every row of every table as text, except for values that read requests change. */
async function snapshot(sql: pg.Pool): Promise<string[]> {
  const { rows: tables } = await sql.query<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.tables
      WHERE table_schema = 'public' AND table_name <> 'RateLimit' ORDER BY 1`,
  );
  const rows: string[] = [];
  for (const { name } of tables) {
    const found = await sql.query<{ row: string }>(
      `SELECT (to_jsonb(t) - 'lastUsedAt')::text AS row FROM "${name}" t ORDER BY 1`,
    );
    rows.push(...found.rows.map(({ row }) => `${name} ${row}`));
  }
  return rows;
}

const otherType = (type: OwnedType): OwnedType => (type === 'Webhook' ? 'Connector' : 'Webhook');
