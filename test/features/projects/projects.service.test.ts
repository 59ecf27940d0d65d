import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { startReceiver } from '../../support/receiver.ts';
import {
  createConnector,
  createEndpoint,
  createKey,
  createProject,
  createWebhook,
  GOOD,
} from '../../support/resources.ts';
import { openRest, type Rest } from '../../support/rest.ts';

/** The examples from EIP-55. https://eips.ethereum.org/EIPS/eip-55 */
const CHECKSUMMED = [
  '0x52908400098527886E0F7030069857D2E4169EE7',
  '0x8617E340B3D01FA5F11F306F4090FD50E238070D',
  '0xde709f2102306220921060314715629080e2fb77',
  '0x27b1fdb04752bbc536007a920d24acb045561c26',
  '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
  '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB',
  '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb',
];

/** A wallet address without letters, which needs no checksum. */
const addressOf = (index: number) => `0x1${String(index).padStart(39, '0')}`;

let app: TestApp;
let rest: Rest;
let pool: pg.Pool;
let alice: TestUser;

beforeAll(async () => {
  app = await startTestApp();
  rest = await openRest(app);
  pool = new pg.Pool({ connectionString: app.databaseUrl });
  alice = await app.user('alice', 'ENTERPRISE');
});
afterAll(async () => {
  await pool?.end();
  await app?.stop();
});

describe("a project's wallet address", () => {
  test.each(CHECKSUMMED)(
    '%s is accepted in lowercase, uppercase, or its checksum case, and shown in its checksum case',
    async (wallet) => {
      const digits = wallet.slice(2);
      for (const written of [wallet, `0x${digits.toLowerCase()}`, `0x${digits.toUpperCase()}`]) {
        const project = await createProject(alice, { walletAddress: written });
        expect(project.walletAddress).toBe(wallet);
      }
    },
  );

  test('is rejected if any letter breaks the checksum', async () => {
    const wallet = CHECKSUMMED[4]!;
    for (const [index, letter] of [...wallet].entries()) {
      if (index < 2 || !/[a-f]/i.test(letter)) continue;
      const flipped = letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase();
      const walletAddress = wallet.slice(0, index) + flipped + wallet.slice(index + 1);
      const response = await rest.send(alice, 'POST', '/api/projects', { body: { ...GOOD.project, walletAddress } });
      expect(response).toMatchObject({ status: 422, body: { errors: [{ pointer: '/walletAddress' }] } });
    }
  });

  test('cannot be changed by an API key, which can still rename the project', async () => {
    const project = await createProject(alice, { walletAddress: CHECKSUMMED[4]! });
    const key = app.caller((await createKey(alice, project.base)).key);
    const renamed = await rest.send(key, 'PATCH', project.base, { body: { name: 'Store' } });
    expect(renamed).toMatchObject({ status: 200, body: { name: 'Store', walletAddress: CHECKSUMMED[4] } });

    const redirected = { name: 'Stolen', walletAddress: CHECKSUMMED[5] };
    const refused = await rest.send(key, 'PATCH', project.base, { body: redirected });
    expect(refused).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
    const { errors } = await key.graphql(
      `mutation { updateProject(input: { id: "${project.id}", walletAddress: "${CHECKSUMMED[5]}" }) { project { id } } }`,
    );
    expect(errors![0]!.extensions.code).toBe('FORBIDDEN');
    const { body } = await rest.send(alice, 'GET', project.base);
    expect(body).toMatchObject({ name: 'Store', walletAddress: CHECKSUMMED[4] });
  });
});

describe("a project's name", () => {
  test('is trimmed and can be in any script', async () => {
    for (const name of ['Ωmega', '店舗', 'متجر', '🛒', 'a'.repeat(200)]) {
      expect(await createProject(alice, { name: ` ${name}\t` })).toMatchObject({ name });
    }
  });
});

describe("a project's buyer rules", () => {
  type Rules = { allowedWallets: string[]; deniedWallets: string[] };
  const [WALLET, OTHER] = [CHECKSUMMED[4]!, CHECKSUMMED[5]!];
  const rulesOf = async (base: string) => (await rest.send<Rules>(alice, 'GET', `${base}/buyer-rules`)).body;

  test('are empty until they are changed, and a change leaves the other rules as they are', async () => {
    const { base } = await createProject(alice);
    const nothing = { allowedWallets: [], deniedWallets: [], period: 'DAY', maxRequests: null, maxSpendUsd: null };
    expect(await rulesOf(base)).toEqual(nothing);

    const given = { allowedWallets: [WALLET.toLowerCase(), WALLET], maxRequests: 5, maxSpendUsd: '0.50' };
    const changed = await rest.send(alice, 'PATCH', `${base}/buyer-rules`, { body: given });
    const stored = { ...nothing, allowedWallets: [WALLET], maxRequests: 5, maxSpendUsd: '0.5' };
    expect(changed).toMatchObject({ status: 200, body: stored });
    const body = { period: 'MONTH', maxRequests: null };
    expect((await rest.send(alice, 'PATCH', `${base}/buyer-rules`, { body })).body).toEqual({ ...stored, ...body });
    expect(await rulesOf(base)).toEqual({ ...stored, ...body });
  });

  test.each([
    [{ deniedWallets: [WALLET, 'vitalik.eth'] }, '/deniedWallets/1'],
    [{ allowedWallets: [WALLET.replace('A', 'a')] }, '/allowedWallets/0'],
    [{ allowedWallets: Array.from({ length: 1_001 }, (_, index) => addressOf(index)) }, '/allowedWallets'],
    [{ maxRequests: 0 }, '/maxRequests'],
    [{ maxSpendUsd: '0' }, '/maxSpendUsd'],
    [{ period: 'YEAR' }, '/period'],
    [{ deniedWallets: null }, '/deniedWallets'],
  ])('reject %j', async (body, pointer) => {
    const { base } = await createProject(alice);
    const refused = await rest.send(alice, 'PATCH', `${base}/buyer-rules`, { body });
    expect(refused).toMatchObject({ status: 422, body: { code: 'VALIDATION_FAILED', errors: [{ pointer }] } });
  });

  test('deny every one of twenty wallets that are denied at the same time, and allow one again', async () => {
    const { base } = await createProject(alice);
    const wallets = Array.from({ length: 20 }, (_, index) => addressOf(index));
    const denials = wallets.map((walletAddress) =>
      rest.send(alice, 'POST', `${base}/buyer-rules/deny`, { body: { walletAddress } }),
    );
    expect(new Set((await Promise.all(denials)).map(({ status }) => status))).toEqual(new Set([200]));
    const { deniedWallets } = await rulesOf(base);
    expect(deniedWallets.map((wallet) => wallet.toLowerCase()).sort()).toEqual(wallets);

    const body = { walletAddress: wallets[7] };
    await rest.send(alice, 'POST', `${base}/buyer-rules/allow`, { body });
    expect(await rulesOf(base)).toMatchObject({ allowedWallets: [] });
    expect((await rulesOf(base)).deniedWallets).toHaveLength(19);
  });

  test('allow one more wallet if only some may pay', async () => {
    const { base } = await createProject(alice);
    const body = { allowedWallets: [WALLET], deniedWallets: [OTHER] };
    await rest.send(alice, 'PATCH', `${base}/buyer-rules`, { body });
    await rest.send(alice, 'POST', `${base}/buyer-rules/allow`, { body: { walletAddress: OTHER } });
    expect(await rulesOf(base)).toMatchObject({ allowedWallets: [WALLET, OTHER], deniedWallets: [] });
  });

  test('can have a thousand denied wallets, but not one more', async () => {
    const { base } = await createProject(alice);
    const deniedWallets = Array.from({ length: 1_000 }, (_, index) => addressOf(index));
    expect((await rest.send(alice, 'PATCH', `${base}/buyer-rules`, { body: { deniedWallets } })).status).toBe(200);
    const deny = (walletAddress: string) =>
      rest.send(alice, 'POST', `${base}/buyer-rules/deny`, { body: { walletAddress } });
    expect((await deny(deniedWallets[0]!)).status).toBe(200);
    const errors = [{ pointer: '/walletAddress', message: 'The list already has 1000 wallets, which is the maximum.' }];
    expect(await deny(WALLET)).toMatchObject({ status: 422, body: { errors } });
  });

  test('are logged with the wallets that were added and removed', async () => {
    const { base } = await createProject(alice);
    const change = (body: object) => rest.send(alice, 'PATCH', `${base}/buyer-rules`, { body });
    await change({ deniedWallets: [WALLET], maxRequests: 5 });
    await change({ deniedWallets: [OTHER], maxSpendUsd: '1' });
    const { body } = await rest.send<{ data: unknown[] }>(alice, 'GET', `${base}/audit-log?action=project.updated`);
    expect(body.data).toMatchObject([
      {
        changes: { deniedWalletsAdded: [OTHER], deniedWalletsRemoved: [WALLET], maxSpendUsd: '1' },
        previous: { maxSpendUsd: null },
      },
      { changes: { deniedWalletsAdded: [WALLET], maxRequests: 5 }, previous: { maxRequests: null } },
    ]);
  });
});

describe('a user', () => {
  test('sees only their own projects, newest first', async () => {
    const carol = await app.user('carol');
    const first = await createProject(carol, { name: 'first' });
    const second = await createProject(carol, { name: 'second' });
    const { body } = await rest.send<{ data: { id: string }[] }>(carol, 'GET', '/api/projects');
    expect(body.data.map(({ id }) => id)).toEqual([second.id, first.id]);
    expect((await rest.send(alice, 'GET', first.base)).status).toBe(404);
  });

  test('is a different user if another issuer has the same subject', async () => {
    const { rows } = await pool.query<{ id: string }>(
      `INSERT INTO "User" ("id", "issuer", "subject") VALUES ('usr_01jc9x2v5qe3w8k4m6n7p9r0st', 'https://other.example', 'dave') RETURNING "id"`,
    );
    const dave = await app.user('dave');
    const project = await createProject(dave);
    const found = await pool.query('SELECT "userId" FROM "Project" WHERE "id" = $1', [project.id]);
    expect(found.rows[0].userId).not.toBe(rows[0]!.id);
  });
});

describe('deleting a project', () => {
  const TABLES = ['Endpoint', 'ApiKey', 'Webhook', 'Connector', 'Event', 'Delivery'];
  const attempts = `SELECT count(*)::int AS count FROM "Attempt" a JOIN "Delivery" d ON d."id" = a."deliveryId" WHERE d."projectId" = $1`;

  async function countRows(projectId: string): Promise<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const table of TABLES) {
      const { rows } = await pool.query(`SELECT count(*)::int AS count FROM "${table}" WHERE "projectId" = $1`, [
        projectId,
      ]);
      counts[table] = rows[0].count;
    }
    return { ...counts, Attempt: (await pool.query(attempts, [projectId])).rows[0].count };
  }

  test('deletes everything in it, revokes its API keys, and leaves other projects unchanged', async () => {
    await using receiver = await startReceiver();
    const [doomed, other] = [await createProject(alice), await createProject(alice)];
    const keys = [];
    for (const { base } of [doomed, other]) {
      await createWebhook(alice, base, { url: `${receiver.url}/in` });
      await createConnector(alice, base, { eventTypes: ['payment.settled'] });
      await createEndpoint(alice, base);
      keys.push(await createKey(alice, base));
    }
    for (const { id } of [doomed, other]) {
      await expect.poll(async () => Object.values(await countRows(id))).not.toContain(0);
    }
    const before = await countRows(other.id);

    expect((await rest.send(alice, 'DELETE', doomed.base)).status).toBe(204);
    const nothing = Object.fromEntries([...TABLES, 'Attempt'].map((table) => [table, 0]));
    expect(await countRows(doomed.id)).toMatchObject({ Endpoint: 0, ApiKey: 0, Webhook: 0, Connector: 0 });
    const [deadKey, livingKey] = keys.map(({ key }) => ({ token: key }));
    expect((await rest.send(deadKey, 'GET', '/api/projects')).status).toBe(401);
    expect((await rest.send(livingKey, 'GET', '/api/projects')).status).toBe(200);
    for (const list of ['endpoints', 'keys', 'webhooks', 'connectors', 'deliveries', 'events']) {
      expect((await rest.send(alice, 'GET', `${doomed.base}/${list}`)).status).toBe(404);
    }
    await expect.poll(() => countRows(doomed.id)).toEqual(nothing);
    expect(await countRows(other.id)).toEqual(before);
  });
});
