import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { createKey, createProject, createWebhook, type Resource } from '../../support/resources.ts';

type Page = { data: (Resource & { title: string; readAt: string | null })[]; nextCursor: string | null };
type Contacts = { emails: string[]; webhookUrl: string | null; slackUrl: string | null; webhookSecret?: string | null };

const SLACK_URL = 'https://hooks.slack.com/services/T00000000/B00000000/abcdefghijklmnopqrstuvwx';

let app: TestApp;
let sql: pg.Pool;
let alice: TestUser;
let base: string;
let projectId: string;

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api', EGRESS_ALLOW: '' } });
  sql = new pg.Pool({ connectionString: app.databaseUrl, max: 2 });
  alice = await app.user('alice', 'ENTERPRISE');
});
beforeEach(async () => {
  ({ base, id: projectId } = await createProject(alice));
});
afterAll(async () => {
  await sql?.end();
  await app?.stop();
});

/** Disables a new webhook the way a worker does. */
async function stopWebhook(): Promise<string> {
  const { id } = await createWebhook(alice, base);
  await sql.query(
    `UPDATE "Webhook" SET "isActive" = false, "disabledReason" = 'gone', "disabledAt" = now() WHERE "id" = $1`,
    [id],
  );
  return id;
}

const list = async (query = '') => (await alice.rest<Page>('GET', `${base}/notices${query}`)).body.data;
const contactsOf = async (user = alice) => (await user.rest<Contacts>('GET', `${base}/contacts`)).body;
const change = (body: object, user = alice) => user.rest<Contacts>('PATCH', `${base}/contacts`, body);

describe('notices', () => {
  test('are listed with their texts and a link to the cause', async () => {
    const webhookId = await stopWebhook();
    expect(await list()).toMatchObject([
      {
        type: 'destination.disabled',
        subjectId: webhookId,
        title: 'hooks.example.com is disabled',
        cause: 'The destination responded with 410 Gone.',
        advice: 'Fix and enable the destination, then replay the deliveries that it missed.',
        url: `/console/projects/${projectId}/webhooks`,
        readAt: null,
        closedAt: null,
      },
    ]);
  });

  test('are closed when the owner enables the destination again', async () => {
    const webhookId = await stopWebhook();
    await alice.rest('PATCH', `${base}/webhooks/${webhookId}`, { isActive: true });
    expect(await list('?isOpen=true')).toEqual([]);
    expect(await list('?isOpen=false')).toMatchObject([{ subjectId: webhookId, closedAt: expect.any(String) }]);
  });

  test('are closed when the destination is deleted, and disappear with the project', async () => {
    const webhookId = await stopWebhook();
    await alice.rest('DELETE', `${base}/webhooks/${webhookId}`);
    expect(await list('?isOpen=true')).toEqual([]);
    await change({ emails: ['ops@example.com'] });
    await alice.rest('DELETE', base);
    for (const table of ['Notice', 'NoticeContacts', 'NoticeMessage'])
      expect((await sql.query(`SELECT FROM "${table}" WHERE "projectId" = $1`, [projectId])).rowCount, table).toBe(0);
  });

  test('are marked as read one by one or together', async () => {
    for (let index = 0; index < 3; index++) await stopWebhook();
    const unread = async () =>
      (
        await alice.graphql<{ project: { unreadNoticeCount: number } }>(
          `{ project(id: "${projectId}") { unreadNoticeCount } }`,
        )
      ).data!.project.unreadNoticeCount;
    expect(await unread()).toBe(3);
    const [first] = await list();
    const read = (body: object) => alice.rest<{ readCount: number }>('POST', `${base}/notices/read`, body);
    expect((await read({ ids: [first!.id] })).body).toEqual({ readCount: 1 });
    expect((await list('?isRead=true')).map(({ id }) => id)).toEqual([first!.id]);
    expect((await read({})).body).toEqual({ readCount: 2 });
    expect(await unread()).toBe(0);
    const other = await createProject(alice);
    expect((await alice.rest('POST', `${other.base}/notices/read`, { ids: [first!.id] })).status).toBe(404);
    expect((await read({ ids: ['wh_1'] })).status).toBe(404);
  });

  test('can be read by an API key of the project, and by nobody else', async () => {
    await stopWebhook();
    const { key } = await createKey(alice, base);
    expect((await app.caller(key).rest<Page>('GET', `${base}/notices`)).body.data).toHaveLength(1);
    const mallory = await app.user('mallory');
    for (const [method, path] of [
      ['GET', '/notices'],
      ['POST', '/notices/read'],
      ['GET', '/contacts'],
      ['PATCH', '/contacts'],
    ] as const)
      expect((await mallory.rest(method, base + path, method === 'GET' ? undefined : {})).status, path).toBe(404);
    expect(await list('?isRead=true')).toEqual([]);
  });

  test('arrive live', async () => {
    const response = await fetch(`${app.url}/graphql`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${alice.token}`,
        accept: 'text/event-stream',
        'content-type': 'application/json',
      },
      body: JSON.stringify({
        query: `subscription { noticeUpdated(projectId: "${projectId}") { cursor notice { title readAt } } }`,
      }),
    });
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    const readUntil = async (wanted: string) => {
      while (!text.includes(wanted)) text += (await reader.read()).value;
    };
    await readUntil(':');
    await stopWebhook();
    await readUntil('"title":"hooks.example.com is disabled","readAt":null');
    await alice.rest('POST', `${base}/notices/read`, {});
    await readUntil('"readAt":"20');
    await reader.cancel();
  });
});

describe('contacts', () => {
  test('are empty at first, and say whether the server can send email', async () => {
    expect(await contactsOf()).toEqual({
      id: projectId,
      emails: [],
      webhookUrl: null,
      slackUrl: null,
      weeklyDigest: true,
      canSendEmail: false,
    });
  });

  test('are stored encrypted and shown masked, and a mask that is sent back keeps the value', async () => {
    const { body } = await change({
      emails: ['ops@example.com', 'ops@example.com'],
      webhookUrl: 'https://me.example.com/hooks/secret-token-123',
      slackUrl: SLACK_URL,
    });
    expect(body).toMatchObject({
      emails: ['ops@example.com'],
      webhookUrl: 'https://me.example.com/hooks/••••',
      slackUrl: 'https://hooks.slack.com/services/••••/••••/••••',
      webhookSecret: expect.stringMatching(/^whsec_/),
    });
    const stored = async () => (await sql.query('SELECT * FROM "NoticeContacts" WHERE "id" = $1', [projectId])).rows[0];
    const before = await stored();
    expect(JSON.stringify(before)).not.toMatch(/secret-token|abcdefghijkl|whsec_/);
    const { webhookUrl, slackUrl } = await contactsOf();
    const again = await change({ webhookUrl, slackUrl, weeklyDigest: false });
    expect(again.body).toMatchObject({ webhookUrl, slackUrl, weeklyDigest: false, webhookSecret: null });
    const moved = await change({ webhookUrl: 'https://me.example.com/hooks/other' });
    expect(moved.body.webhookSecret).toMatch(/^whsec_/);
    expect(moved.body.webhookSecret).not.toBe(body.webhookSecret);
    expect((await change({ slackUrl: 'https://other.example.com/services/••••/••••/••••' })).status).toBe(422);
    expect((await change({ webhookUrl: null, slackUrl: '' })).body).toMatchObject({ webhookUrl: null, slackUrl: null });
    const audit = await alice.rest<{ data: { action: string; changes: object }[] }>(
      'GET',
      `${base}/audit-log?limit=100`,
    );
    const entries = audit.body.data.filter(({ action }) => action === 'contacts.updated');
    expect(entries).toHaveLength(4);
    expect(JSON.stringify(entries)).not.toMatch(/secret-token|abcdefghijkl|whsec_/);
  });

  test('must be email addresses and HTTPS URLs', async () => {
    for (const body of [
      { emails: ['nobody'] },
      { emails: Array.from({ length: 11 }, (_, index) => `a${index}@example.com`) },
      { webhookUrl: 'http://me.example.com' },
      { slackUrl: 'https://10.0.0.1/hook' },
      { emails: ['a@example.com\r\nBcc: b@example.com'] },
    ])
      expect((await change(body)).status, JSON.stringify(body)).toBe(422);
  });

  test('cannot be changed with an API key', async () => {
    const { key } = await createKey(alice, base);
    const program = app.caller(key);
    expect((await change({ emails: ['mallory@example.com'] }, program)).status).toBe(403);
    expect((await contactsOf(program)).emails).toEqual([]);
  });
});
