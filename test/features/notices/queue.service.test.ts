import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../../src/ids.ts';
import type { Row } from '../../delivery/support.ts';
import { startReceiver } from '../../support/receiver.ts';
import { startSmtpServer } from './smtp-server.ts';
import { type NoticeStage, openNoticeStage } from './support.ts';

let stage: NoticeStage;

beforeAll(async () => {
  stage = await openNoticeStage();
});
afterAll(() => stage?.close());

/** Disables a new webhook, which writes a notice that is due immediately. */
async function disableOne(projectId: string): Promise<void> {
  const { id } = await stage.addWebhook('https://hooks.example.com/in', { projectId });
  await stage.pool.query(`UPDATE "Webhook" SET "isActive" = false, "disabledReason" = 'gone' WHERE "id" = $1`, [id]);
}

/** Invites an address to a project, as features/members/invitations does. */
async function invite(projectId: string, email: string): Promise<void> {
  const invitationId = newId('Invitation');
  const expiresAt = new Date(Date.now() + 86_400_000).toISOString();
  await stage.pool.query(
    `INSERT INTO "Invitation" ("id", "projectId", "email", "role", "invitedById", "invitedByName", "expiresAt")
     SELECT $1, "id", $3, 'VIEWER', "userId", 'bob@example.com', $4 FROM "Project" WHERE "id" = $2`,
    [invitationId, projectId, email, expiresAt],
  );
  const content = {
    kind: 'invitation',
    projectId,
    projectName: 'Weather',
    url: null,
    invitationId,
    role: 'VIEWER',
    invitedByName: 'bob@example.com',
    expiresAt,
  };
  await stage.pool.query(
    `INSERT INTO "NoticeMessage" ("id", "projectId", "channel", "recipient", "content") VALUES (new_id('msg'), $1, 'email', $2, $3)`,
    [projectId, email, content],
  );
}

test('an account with contacts that don’t respond delays neither other accounts’ notices nor emails', async () => {
  const smtp = await startSmtpServer();
  const held: (() => void)[] = [];
  await using hanging = await startReceiver(() => new Promise((resolve) => held.push(() => resolve({}))));
  await using contact = await startReceiver();
  // The requests stay open until the test ends them.
  const egress: NoticeStage['egress'] = {
    ...stage.egress,
    send: (request) => stage.egress.send({ ...request, timeoutMilliseconds: 600_000 }),
  };
  const projectIds = await Promise.all(Array.from({ length: 30 }, () => stage.addProject()));
  await stage.pool.query(
    `UPDATE "Project" SET "userId" = (SELECT "userId" FROM "Project" WHERE "id" = $1) WHERE "id" = ANY ($2)`,
    [projectIds[0], projectIds],
  );
  for (const projectId of projectIds) {
    await stage.setContacts(projectId, { webhookUrl: hanging.url, slackUrl: hanging.url });
    await disableOne(projectId);
  }
  const mail = { from: 'notices@tollgate.example', via: { smtpUrl: smtp.url } };
  const runner = stage.runner({ mail, egress });
  runner.start();
  await hanging.waitFor(2);

  const other = await stage.addProject();
  await stage.setContacts(other, { webhookUrl: contact.url });
  await disableOne(other);
  await invite(other, 'guest@example.com');
  await contact.waitFor(1, 20_000);
  await expect.poll(() => smtp.mails).toMatchObject([{ to: ['guest@example.com'] }]);
  expect(hanging.requests, 'the account has only its share of the slots').toHaveLength(2);

  // The next message takes the place of the one that ended, although the other message still hangs.
  held[0]!();
  await hanging.waitFor(3);
  const stopped = runner.stop();
  await hanging.close();
  await stopped;
  expect(hanging.requests, 'a process that stops sends nothing more').toHaveLength(3);
  await smtp.close();
});

test('many accounts with contacts that don’t respond don’t delay an account with one that does', async () => {
  const held: (() => void)[] = [];
  await using hanging = await startReceiver(() => new Promise((resolve) => held.push(() => resolve({}))));
  await using contact = await startReceiver();
  // No request times out, so the slots of the ones that hang never become free.
  const egress: NoticeStage['egress'] = {
    ...stage.egress,
    send: (request) => stage.egress.send({ ...request, timeoutMilliseconds: 600_000 }),
  };
  const slow = await Promise.all(Array.from({ length: 60 }, () => stage.addProject()));
  for (const projectId of slow) {
    await stage.setContacts(projectId, { webhookUrl: hanging.url });
    await disableOne(projectId);
  }
  const runner = stage.runner({ egress });
  runner.start();
  await hanging.waitFor(40, 20_000);
  const fast = await stage.addProject();
  await stage.setContacts(fast, { webhookUrl: contact.url });
  await disableOne(fast);
  await contact.waitFor(1, 20_000);
  await hanging.waitFor(60, 20_000);
  expect(held, 'no request has ended').toHaveLength(60);
  const isSlow = ({ msg, projectId }: Row) =>
    /takes a long time to respond/.test(String(msg)) && slow.includes(projectId as string);
  await expect.poll(() => stage.lines.filter(isSlow).length).toBe(60);

  // From now on, these accounts share a small part of the slots.
  for (const release of held) release();
  await expect.poll(async () => (await unsent(slow)).length).toBe(0);
  await stage.letPass('1 day');
  for (const projectId of slow) await disableOne(projectId);
  await hanging.waitFor(70, 20_000);
  await disableOne(fast);
  await contact.waitFor(2, 20_000);
  expect(hanging.requests).toHaveLength(70);
  const stopped = runner.stop();
  await hanging.close();
  await stopped;
});

async function unsent(projectIds: string[]): Promise<unknown[]> {
  const sql = 'SELECT FROM "NoticeMessage" WHERE "projectId" = ANY ($1) AND "sentAt" IS NULL';
  return (await stage.pool.query(sql, [projectIds])).rows;
}
