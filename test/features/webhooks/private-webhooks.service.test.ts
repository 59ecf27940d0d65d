import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startTokenServer, type TokenServer } from '../../connectors/support/token-server.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { createEndpoint, createProject, type Resource } from '../../support/resources.ts';

type Project = Resource & { base: string };
type Delivery = { status: string; attempts: { errorClass: string | null }[] };

const HINT =
  'You can use any https URL with a public host, on port 443 or 1024 and above. The operator can use WEBHOOK_ALLOW to allow other addresses for a project.';
const rejected = (pointer: string) => ({
  status: 422,
  body: { errors: [{ pointer, message: `The target address must be public. ${HINT}` }] },
});

let first: TestApp;
let app: TestApp;
let alice: TestUser;
/** The private server that one project can call, and the one that all projects can call. */
let own: Receiver;
let common: Receiver;
let tokens: TokenServer;
let opened: Project;
let other: Project;

const open = (...urls: string[]) => urls.map((url) => `127.0.0.1/32:${new URL(url).port}`);

beforeAll(async () => {
  [own, common, tokens] = [await startReceiver(), await startReceiver(), await startTokenServer()];
  // The projects must exist before the settings can name them.
  first = await startTestApp({ env: { ROLES: 'api' } });
  const owner = await first.user('alice');
  [opened, other] = [await createProject(owner), await createProject(owner)];
  app = await startTestApp({
    databaseUrl: first.databaseUrl,
    dataDir: first.dataDir,
    env: {
      EGRESS_ALLOW: '',
      WEBHOOK_ALLOW: [...open(own.url, tokens.url).map((entry) => `${entry}@${opened.id}`), ...open(common.url)].join(),
    },
    // A public name that resolves to the private server.
    hostOverrides: { 'hooks.example.com': own.url },
    delivery: { retryScheduleSeconds: [] },
  });
  alice = await app.user('alice');
});
beforeEach(() => {
  for (const receiver of [own, common]) receiver.requests.length = 0;
});
afterAll(async () => {
  await app?.stop();
  await first?.stop();
  await Promise.all([own?.close(), common?.close(), tokens?.close()]);
});

const webhook = (base: string, url: string, fields: object = {}) =>
  alice.rest<Resource>('POST', `${base}/webhooks`, { url, eventTypes: ['endpoint.created'], ...fields });

/** The first delivery to a webhook, when it has ended. */
async function delivered(base: string, webhookId: string): Promise<Delivery> {
  await createEndpoint(alice, base);
  const first = async () =>
    (await alice.rest<{ data: Resource[] }>('GET', `${base}/deliveries?webhookId=${webhookId}`)).body.data[0];
  await expect.poll(async () => (await first())?.status).toMatch(/SUCCEEDED|FAILED/);
  return (await alice.rest<Delivery>('GET', `${base}/deliveries/${(await first())!.id}`)).body;
}

describe('a receiver that the operator has opened to one project', () => {
  test('gets that project’s events, with a token from a server that is open to it as well', async () => {
    const authentication = {
      type: 'OAUTH2_CLIENT_CREDENTIALS',
      tokenUrl: `${tokens.url}/token`,
      clientId: 'id',
      clientSecret: 'a-long-secret',
    };
    const { status, body } = await webhook(opened.base, `${own.url}/hook`, { authentication });
    expect(status, JSON.stringify(body)).toBe(201);
    expect(await delivered(opened.base, body.id)).toMatchObject({ status: 'SUCCEEDED' });
    expect(own.requests).toMatchObject([{ path: '/hook', headers: { authorization: /^Bearer ./ } }]);
  });

  test('can’t be used by another project, neither as URL nor as token URL', async () => {
    for (const host of ['127.0.0.1', 'localhost'])
      expect(await webhook(other.base, `http://${host}:${own.port}/hook`)).toMatchObject(rejected('/url'));
    const authentication = {
      type: 'OAUTH2_CLIENT_CREDENTIALS',
      tokenUrl: `${tokens.url}/token`,
      clientId: 'id',
      clientSecret: 'a-long-secret',
    };
    expect(await webhook(other.base, 'https://hooks.example.org/', { authentication })).toMatchObject(
      rejected('/authentication/tokenUrl'),
    );
    const { body } = await webhook(other.base, `${common.url}/hook`);
    const path = `${other.base}/webhooks/${body.id}`;
    expect(await alice.rest('PATCH', path, { url: `${own.url}/hook` })).toMatchObject(rejected('/url'));
    expect(await alice.rest('PATCH', path, { url: `${common.url}/other` })).toMatchObject({ status: 200 });
  });

  test('isn’t reached by another project through a public name', async () => {
    const { body } = await webhook(other.base, 'https://hooks.example.com/hook');
    expect(await delivered(other.base, body.id)).toMatchObject({
      status: 'FAILED',
      attempts: [{ errorClass: 'target_not_allowed' }],
    });
    expect(own.requests).toEqual([]);
  });
});

test('a receiver that is open to all projects gets events from each', async () => {
  const paths = ['/opened', '/other'];
  for (const [index, { base }] of [opened, other].entries()) {
    const { body } = await webhook(base, common.url + paths[index]);
    expect(await delivered(base, body.id)).toMatchObject({ status: 'SUCCEEDED' });
  }
  expect(common.requests.map(({ path }) => path)).toEqual(expect.arrayContaining(paths));
});

describe('everything else', () => {
  test.each(['http://127.0.0.1:1/', 'http://127.0.0.2:PORT/', 'https://10.0.0.1/', 'http://169.254.169.254/'])(
    'stays closed: %s',
    async (url) => {
      expect(await webhook(opened.base, url.replace('PORT', String(own.port)))).toMatchObject(rejected('/url'));
    },
  );

  test('stays closed for endpoints, connectors, and contacts', async () => {
    for (const url of [own.url, common.url]) {
      const endpoint = { path: '/private', upstreamUrl: url, priceUsd: '0.01' };
      expect(await alice.rest('POST', `${opened.base}/endpoints`, endpoint)).toMatchObject({
        status: 422,
        body: { errors: [{ pointer: '/upstreamUrl' }] },
      });
      const connector = {
        type: 'slack',
        eventTypes: ['*'],
        config: { webhookUrl: url.replace('http:', 'https:') },
      };
      expect(await alice.rest('POST', `${opened.base}/connectors`, connector)).toMatchObject({ status: 422 });
      expect(await alice.rest('PATCH', `${opened.base}/contacts`, { webhookUrl: url })).toMatchObject({ status: 422 });
    }
  });
});
