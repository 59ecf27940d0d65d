import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { invite, person } from '../../support/members.ts';
import { createProject } from '../../support/resources.ts';
import { type SmtpServer, startSmtpServer } from '../notices/smtp-server.ts';

let app: TestApp;
let sql: pg.Pool;
let smtp: SmtpServer;
let alice: TestUser;
let addresses = 0;

beforeAll(async () => {
  smtp = await startSmtpServer();
  app = await startTestApp({
    env: {
      ROLES: 'api,worker',
      NOTIFY_SMTP_URL: smtp.url,
      NOTIFY_FROM: 'notices@tollgate.example',
    },
  });
  sql = new pg.Pool({ connectionString: app.databaseUrl, max: 1 });
  alice = await person(app, 'alice', 'ENTERPRISE');
});
beforeEach(() => {
  smtp.mails.length = 0;
});
afterAll(async () => {
  await sql?.end();
  await app?.stop();
  await smtp?.close();
});

const newAddress = () => `guest${++addresses}@example.com`;
/** The emails to an address, as text. */
const mailsTo = (address: string) =>
  smtp.mails
    .filter(({ to }) => to.includes(address))
    .map(({ data }) => data.replaceAll('=\r\n', '').replaceAll('=3D', '='));
const firstMailTo = (address: string) => expect.poll(() => mailsTo(address)[0]);

test('the invited address gets an email, which contains no secret', async () => {
  const { base } = await createProject(alice, { name: 'Weather' });
  const address = newAddress();
  const { id } = await invite(alice, base, address, 'DEVELOPER');
  await firstMailTo(address).toContain('alice@example.com invites you');
  const [mail] = mailsTo(address);
  expect(mail).toContain('alice@example.com invites you');
  expect(mail).not.toContain(id);
});

test('an address that is offered a project gets an email, which contains no secret', async () => {
  const { base } = await createProject(alice, { name: 'Weather' });
  const address = newAddress();
  const { body } = await alice.rest<{ id: string }>('POST', `${base}/transfer`, { email: address });
  await firstMailTo(address).toContain('alice@example.com offers you ownership');
  expect(mailsTo(address)[0]).not.toContain(body.id);
});

test('a project’s name can’t smuggle a link into the email', async () => {
  const { base } = await createProject(alice, { name: 'Locked! Visit evil.example/pay now' });
  const address = newAddress();
  await invite(alice, base, address, 'VIEWER');
  await firstMailTo(address).toContain('invites you to a project in Tollgate');
  expect(mailsTo(address)[0]).not.toContain('evil.example');
});

test('an invitation that was revoked before the email went out isn’t sent', async () => {
  const { base, id: projectId } = await createProject(alice);
  const address = newAddress();
  const invitation = await invite(alice, base, address, 'VIEWER');
  await sql.query(
    `WITH revoked AS (UPDATE "Invitation" SET "status" = 'REVOKED', "endedAt" = now() WHERE "id" = $1)
     UPDATE "NoticeMessage" SET "nextAttemptAt" = now(), "sentAt" = NULL, "attemptCount" = 0 WHERE "projectId" = $2`,
    [invitation.id, projectId],
  );
  const error = async () =>
    (await sql.query('SELECT "error" FROM "NoticeMessage" WHERE "projectId" = $1', [projectId])).rows[0].error;
  await expect.poll(error).toBe('The invitation is no longer open.');
});

test('an address gets at most five emails in a day, no matter who invites it', async () => {
  const address = newAddress();
  for (let index = 0; index < 7; index++) await invite(alice, (await createProject(alice)).base, address, 'VIEWER');
  const { rows } = await sql.query('SELECT count(*)::int AS count FROM "NoticeMessage" WHERE "recipient" = $1', [
    address,
  ]);
  expect(rows).toEqual([{ count: 5 }]);
});

test('deleting the projects doesn’t allow more emails to an address', async () => {
  const address = newAddress();
  for (const send of ['invitations', 'invitations', 'invitations', 'transfer', 'transfer']) {
    const { base } = await createProject(alice);
    const body = { email: address, ...(send === 'invitations' && { role: 'VIEWER' }) };
    expect((await alice.rest('POST', `${base}/${send}`, body)).status).toBeLessThan(300);
    expect((await alice.rest('DELETE', base)).status).toBe(204);
  }
  await invite(alice, (await createProject(alice)).base, address, 'VIEWER');
  const { rows } = await sql.query('SELECT count(*)::int AS count FROM "NoticeMessage" WHERE "recipient" = $1', [
    address,
  ]);
  expect(rows).toEqual([{ count: 0 }]);
});
