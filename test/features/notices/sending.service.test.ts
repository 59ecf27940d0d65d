import pino from 'pino';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { parseEgressAllow } from '../../../src/egress/allow-list.ts';
import { createEgress } from '../../../src/egress/egress.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { startSmtpServer } from './smtp-server.ts';
import { messageIn, type NoticeStage, openNoticeStage, sentTypes } from './support.ts';

const FROM = 'Tollgate <notices@tollgate.example>';

let stage: NoticeStage;
let contact: Receiver;
let projectId: string;

beforeAll(async () => {
  stage = await openNoticeStage();
});
beforeEach(async () => {
  contact = await startReceiver();
  projectId = await stage.addProject();
});
afterEach(() => contact.close());
afterAll(() => stage?.close());

/** Disables a new webhook, which writes a notice that is due immediately. */
async function disableOne(): Promise<string> {
  const { id } = await stage.addWebhook('https://hooks.example.com/in', { projectId });
  await stage.pool.query(`UPDATE "Webhook" SET "isActive" = false, "disabledReason" = 'gone' WHERE "id" = $1`, [id]);
  return id;
}

const errorsOf = async () => (await stage.messagesOf(projectId)).map(({ error }) => error);

describe('messages to contacts', () => {
  test('contain the notices of ten minutes, and then of twenty', async () => {
    await stage.setContacts(projectId, { webhookUrl: contact.url });
    await disableOne();
    await stage.run();
    for (let index = 0; index < 3; index++) await disableOne();
    await stage.letPass('9 minutes');
    await stage.run();
    expect(contact.requests).toHaveLength(1);
    await stage.letPass('1 minute');
    await stage.run();
    await disableOne();
    await stage.letPass('19 minutes');
    await stage.run();
    expect(contact.requests.map((request) => messageIn(request).data.notices.length)).toEqual([1, 3]);
    await stage.letPass('1 minute');
    await stage.run();
    expect(contact.requests.map((request) => messageIn(request).data.notices.length)).toEqual([1, 3, 1]);
  });

  test('list twenty notices and say how many more there are', async () => {
    await stage.setContacts(projectId, { webhookUrl: contact.url });
    for (let index = 0; index < 23; index++) await disableOne();
    await stage.run();
    expect(messageIn(contact.requests[0]!).data).toMatchObject({ moreCount: 3 });
    expect(messageIn(contact.requests[0]!).data.notices).toHaveLength(20);
  });

  test("are still sent for other projects if they can't be written for one", async () => {
    const broken = projectId;
    await stage.setContacts(broken, { webhookUrl: contact.url });
    await disableOne();
    // No Date can represent this time.
    await stage.pool.query(`UPDATE "Notice" SET "lastAt" = 'infinity' WHERE "projectId" = $1`, [broken]);
    projectId = await stage.addProject();
    await stage.setContacts(projectId, { webhookUrl: contact.url });
    await disableOne();
    await stage.run();
    expect(contact.requests.map((request) => messageIn(request).projectId)).toEqual([projectId]);
    await stage.pool.query(`UPDATE "Notice" SET "lastAt" = now() WHERE "projectId" = $1`, [broken]);
    await stage.letPass('10 minutes');
    await stage.run();
    expect(contact.requests.map((request) => messageIn(request).projectId)).toEqual([projectId, broken]);
  });

  test('are sent only once, even by several processes', async () => {
    await stage.setContacts(projectId, { webhookUrl: contact.url, slackUrl: `${contact.url}/slack` });
    await disableOne();
    contact.handle(async () => {
      // While one process waits for the response, the other processes also look for messages.
      await stage.runner().run();
      return {};
    });
    await Promise.all([stage.run(), stage.run(), stage.run()]);
    expect(contact.requests.map(({ path }) => path).sort()).toEqual(['/', '/slack']);
  });

  test('are sent by another process if the process that claimed them dies', async () => {
    await stage.setContacts(projectId, { webhookUrl: contact.url });
    await disableOne();
    const dying = stage.runner({
      egress: { ...stage.egress, send: () => new Promise(() => {}) },
    });
    void dying.run();
    await expect.poll(async () => (await stage.messagesOf(projectId))[0]?.attemptCount).toBe(1);
    // A process that is dead claims nothing more, as this one would when it finds that the contact is slow.
    void dying.stop();
    await stage.run();
    expect(contact.requests).toHaveLength(0);
    await stage.letPass('1 minute');
    await stage.run();
    expect(sentTypes(contact.requests)).toEqual([['destination.disabled']]);
  });

  test('are signed for the webhook as Standard Webhooks specifies', async () => {
    const secret = await stage.setContacts(projectId, { webhookUrl: contact.url });
    await disableOne();
    await stage.run();
    const { body, headers } = contact.requests[0]!;
    const verified = new StandardWebhook(secret).verify(body.toString(), headers as Record<string, string>);
    expect(verified).toMatchObject({ type: 'notices', id: headers['webhook-id'] });
  });

  test('have escaped text for Slack', async () => {
    await stage.setContacts(projectId, { slackUrl: contact.url });
    await stage.pool.query(`UPDATE "Project" SET "name" = 'A <!channel> & B' WHERE "id" = $1`, [projectId]);
    await disableOne();
    await stage.run();
    const { text } = JSON.parse(contact.requests[0]!.body.toString());
    expect(text).toContain('*[A &lt;!channel&gt; &amp; B] 1 notice*');
    expect(text).toContain('hooks.example.com is disabled');
  });

  test('go by SMTP to each address, and one that is rejected does not hold up the others', async () => {
    const smtp = await startSmtpServer({ rejected: 'gone@example.com' });
    await stage.setContacts(projectId, { emails: ['gone@example.com', 'ops@example.com'] });
    await disableOne();
    await stage.runner({ mail: { from: FROM, via: { smtpUrl: smtp.url } } }).run();
    expect(smtp.mails).toMatchObject([{ to: ['ops@example.com'] }]);
    const data = smtp.mails[0]!.data.replaceAll('=\r\n', '');
    expect(data).toContain('Subject: =?UTF-8?Q?=5BWeather=5D_hooks=C2=B7example');
    expect(data).toContain('\r\nhooks=C2=B7example=C2=B7com is disabled\r\n');
    expect(data).toContain(`https://tollgate.example/console/projects/${projectId}/webhooks`);
    expect(await errorsOf()).toEqual(expect.arrayContaining([null, expect.stringContaining('550')]));
    await smtp.close();
  });

  test('leave no trace of the password of an SMTP server that quotes it', async () => {
    const smtp = await startSmtpServer({ quotesLogin: true });
    const lines: string[] = [];
    const log = pino({ level: 'trace' }, { write: (line) => void lines.push(line) });
    await stage.setContacts(projectId, { emails: ['ops@example.com'] });
    await disableOne();
    const smtpUrl = smtp.url.replace('//', `//mailer:${encodeURIComponent('s3cr3t/pässword')}@`);
    await stage.runner({ log, mail: { from: FROM, via: { smtpUrl } } }).run();
    expect(await errorsOf()).toEqual([expect.stringContaining('535 Rejected: AUTH PLAIN')]);
    const sent = Buffer.from('\0mailer\0s3cr3t/pässword').toString('base64');
    for (const text of [...lines, ...(await errorsOf())]) {
      expect(text).not.toContain('s3cr3t');
      expect(text).not.toContain(sent.slice(-16));
    }
    expect(lines.join()).toContain("couldn't send a notice");
    await smtp.close();
  });

  test('are limited to 200 a day for all of an account’s projects, no matter how many it deletes', async () => {
    const smtp = await startSmtpServer();
    const project = await stage.pool.query('SELECT "userId" FROM "Project" WHERE "id" = $1', [projectId]);
    // Acts as if 199 messages had just been sent.
    await stage.pool.query(
      `INSERT INTO "RateLimit" ("key", "arrivesAt") VALUES ($1, now() + 199 * interval '24 hours' / 200)`,
      [`contact-emails ${project.rows[0].userId}`],
    );
    await stage.setContacts(projectId, { emails: ['one@example.com', 'two@example.com'] });
    await disableOne();
    const strangers = projectId;
    projectId = await stage.addProject();
    await stage.setContacts(projectId, { emails: ['three@example.com'] });
    await disableOne();
    await stage.runner({ mail: { from: FROM, via: { smtpUrl: smtp.url } } }).run();
    const recipients = smtp.mails.map(({ to }) => to[0]);
    expect(recipients).toHaveLength(2);
    expect(recipients).toContain('three@example.com');
    const errors = (await stage.messagesOf(strangers)).map(({ error }) => error);
    expect(errors).toEqual(expect.arrayContaining([null, expect.stringContaining('have sent 200 emails')]));
    await smtp.close();
  });

  test('go through Resend with the same key for every attempt', async () => {
    const egress = createEgress({
      allow: parseEgressAllow('127.0.0.1/32:*'),
      log: stage.log,
      hostOverrides: { 'api.resend.com': contact.url },
    });
    const runner = stage.runner({ mail: { from: FROM, via: { resendApiKey: 're_123' } }, egress });
    await stage.setContacts(projectId, { emails: ['resend@example.com'] });
    await disableOne();
    contact.respondNext({ statusCode: 500 });
    await runner.run();
    await stage.letPass('30 seconds');
    await runner.run();
    const mails = contact.requests.map(({ headers, body }) => ({ headers, ...JSON.parse(body.toString()) }));
    const ours = mails.filter(({ to }) => to[0] === 'resend@example.com');
    expect(ours).toMatchObject([{ from: FROM, subject: '[Weather] hooks·example·com is disabled' }, { from: FROM }]);
    expect(new Set(ours.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
    await egress.close();
  });

  test('fail with a reason if email is not set up', async () => {
    await stage.setContacts(projectId, { emails: ['ops@example.com'] });
    await disableOne();
    await stage.run();
    expect(await stage.messagesOf(projectId)).toMatchObject([
      { error: "Email isn't set up on this server.", nextAttemptAt: null },
    ]);
  });

  test('are retried five times, and do not hold up other contacts', async () => {
    await stage.setContacts(projectId, { webhookUrl: `${contact.url}/broken`, slackUrl: `${contact.url}/slack` });
    contact.handle(({ path }) => ({ statusCode: path === '/broken' ? 500 : 200 }));
    await disableOne();
    await stage.run();
    expect(contact.requests.map(({ path }) => path).sort()).toEqual(['/broken', '/slack']);
    for (let round = 0; round < 8; round++) {
      await stage.letPass('6 hours');
      await stage.run();
    }
    expect(contact.requests.filter(({ path }) => path === '/broken')).toHaveLength(6);
    expect(contact.requests.filter(({ path }) => path === '/slack')).toHaveLength(1);
    expect(await errorsOf()).toEqual(expect.arrayContaining([null, 'The response has status 500.']));
  });

  test('never reach private addresses', async () => {
    await stage.setContacts(projectId, { webhookUrl: contact.url, slackUrl: 'https://169.254.169.254/latest' });
    const egress = createEgress({ allow: parseEgressAllow(''), log: stage.log });
    await disableOne();
    await stage.runner({ egress }).run();
    expect(contact.connectionCount()).toBe(0);
    expect(await stage.messagesOf(projectId)).toMatchObject([
      { error: 'The target address must be public.', nextAttemptAt: null },
      { error: 'The target address must be public.', nextAttemptAt: null },
    ]);
    await egress.close();
  });

  test('are not sent to a contact that was removed in the meantime', async () => {
    await stage.setContacts(projectId, { webhookUrl: contact.url });
    await disableOne();
    contact.respondNext({ statusCode: 500 });
    await stage.run();
    await stage.setContacts(projectId, {});
    await stage.letPass('1 hour');
    await stage.run();
    expect(contact.requests).toHaveLength(1);
    expect(await errorsOf()).toEqual(['The contact was removed.']);
  });

  test('are sent about open problems as soon as there is a contact', async () => {
    await disableOne();
    await stage.run();
    await stage.setContacts(projectId, { webhookUrl: contact.url });
    await stage.run();
    expect(sentTypes(contact.requests)).toEqual([['destination.disabled']]);
  });
});
