import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import pino from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../src/database/client.ts';
import { newId } from '../../src/ids.ts';
import { parseKeyring } from '../../src/secrets/keyring.ts';
import { rotateSecrets } from '../../src/secrets/rotate.ts';
import { createSecretBox, type SecretBox } from '../../src/secrets/secret-box.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { INHERITED } from '../support/inherited.ts';

const log = pino({ level: 'silent' });
const OLD = `old:${randomBytes(32).toString('base64')}`;
const NEW = `new:${randomBytes(32).toString('base64')}`;
const before = createSecretBox(parseKeyring(OLD));
const keyring = parseKeyring(`${NEW},${OLD}`);
const secretBox = createSecretBox(keyring);
const after = createSecretBox(parseKeyring(NEW));

let database: TestDatabase;
let db: Database;
let projectId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  db = await openDatabase({ url: database.url, poolSize: 4, log });
});
afterAll(async () => {
  await db.close();
  await database.drop();
});
beforeEach(async () => {
  await db.prisma.user.deleteMany();
  projectId = newId('Project');
  await db.prisma.user.create({
    data: {
      id: newId('User'),
      issuer: 'https://idp.example',
      subject: 'alice',
      projects: { create: { id: projectId, name: 'Shop', walletAddress: `0x${'0'.repeat(40)}` } },
    },
  });
});

const contextOf = (table: string, column: string, rowId: string) => ({ table, column, rowId, projectId });

async function addWebhooks(count: number, box: SecretBox, withPrevious = false): Promise<string[]> {
  const data = Array.from({ length: count }, () => {
    const id = newId('Webhook');
    return {
      id,
      projectId,
      url: 'https://receiver.example',
      eventTypes: ['*'],
      secret: box.seal(`secret of ${id}`, contextOf('Webhook', 'secret', id)),
      previousSecret: withPrevious ? box.seal(`previous of ${id}`, contextOf('Webhook', 'previousSecret', id)) : null,
    };
  });
  await db.prisma.webhook.createMany({ data });
  return data.map(({ id }) => id);
}

const rotate = (batchSize = 7) => rotateSecrets({ db, keyring, secretBox, log, batchSize });

describe('rotating the secrets', () => {
  test('reseals every column of every row, so that the old key can be removed', async () => {
    const ids = await addWebhooks(20, before, true);
    const connectorId = newId('Connector');
    await db.prisma.connector.create({
      data: {
        id: connectorId,
        projectId,
        type: 'slack',
        config: {},
        eventTypes: ['*'],
        secretConfig: before.seal('{"webhookUrl":"x"}', contextOf('Connector', 'secretConfig', connectorId)),
      },
    });
    const sealed = before.seal('tokens', contextOf('ConnectorToken', 'sealed', connectorId));
    await db.prisma.connectorToken.create({ data: { id: connectorId, projectId, sealed } });
    const started = {
      id: 'hash',
      sealed: before.seal('verifier', contextOf('ConnectorAuthorization', 'sealed', 'hash')),
    };
    await db.prisma.connectorAuthorization.create({
      data: { ...started, projectId, userId: newId('User'), expiresAt: new Date(Date.now() + 600_000) },
    });
    expect(await rotate()).toEqual({ rotated: 43, unreadable: [], remaining: 0, apiKeysUnderOlderKeys: 0 });

    for (const { id, secret, previousSecret } of await db.prisma.webhook.findMany()) {
      expect(ids).toContain(id);
      expect(after.open(secret, contextOf('Webhook', 'secret', id))).toBe(`secret of ${id}`);
      expect(after.open(previousSecret!, contextOf('Webhook', 'previousSecret', id))).toBe(`previous of ${id}`);
    }
    const connector = await db.prisma.connector.findUniqueOrThrow({ where: { id: connectorId } });
    expect(after.open(connector.secretConfig, contextOf('Connector', 'secretConfig', connectorId))).toContain(
      'webhookUrl',
    );
    const token = await db.prisma.connectorToken.findUniqueOrThrow({ where: { id: connectorId } });
    expect(after.open(token.sealed, contextOf('ConnectorToken', 'sealed', connectorId))).toBe('tokens');
    const authorization = await db.prisma.connectorAuthorization.findUniqueOrThrow({ where: { id: 'hash' } });
    expect(after.open(authorization.sealed, contextOf('ConnectorAuthorization', 'sealed', 'hash'))).toBe('verifier');
    await db.prisma.connectorAuthorization.deleteMany();
  });

  test('does nothing the second time, and does not change current rows', async () => {
    await addWebhooks(5, before);
    const [current] = await addWebhooks(1, secretBox);
    const { secret, updatedAt } = await db.prisma.webhook.findUniqueOrThrow({ where: { id: current! } });
    expect((await rotate()).rotated).toBe(5);
    expect((await rotate()).rotated).toBe(0);
    expect(await db.prisma.webhook.findUniqueOrThrow({ where: { id: current! } })).toMatchObject({ secret, updatedAt });
  });

  test('never overwrites a secret that changes during the rotation', async () => {
    const ids = await addWebhooks(200, before);
    const traffic = (async () => {
      for (const id of ids) {
        const secret = secretBox.seal(`changed ${id}`, contextOf('Webhook', 'secret', id));
        await db.pool.query('UPDATE "Webhook" SET secret = $1 WHERE id = $2', [secret, id]);
      }
    })();
    const [report] = await Promise.all([rotate(5), traffic]);
    expect(report.remaining).toBe(0);
    for (const { id, secret } of await db.prisma.webhook.findMany()) {
      expect(after.open(secret, contextOf('Webhook', 'secret', id))).toBe(`changed ${id}`);
    }
  });

  test('skips rows that are deleted during the rotation', async () => {
    await addWebhooks(50, before);
    const [report] = await Promise.all([rotate(5), db.prisma.webhook.deleteMany()]);
    expect(report).toMatchObject({ unreadable: [], remaining: 0 });
  });

  test('leaves everything readable after concurrent and interrupted runs', async () => {
    const ids = await addWebhooks(100, before);
    const dying = await openDatabase({ url: database.url, poolSize: 2, log });
    const brokenOff = rotateSecrets({
      db: dying,
      keyring,
      secretBox,
      log: pino({}, { write: () => void dying.pool.end() }),
      batchSize: 10,
    });
    await expect(brokenOff).rejects.toThrow();
    await dying.prisma.$disconnect();
    const reports = await Promise.all([rotate(10), rotate(10)]);
    expect(reports[0]!.rotated + reports[1]!.rotated).toBe(90);
    expect(reports.map(({ remaining }) => remaining)).toEqual([0, 0]);
    for (const { id, secret } of await db.prisma.webhook.findMany()) {
      expect(ids).toContain(id);
      expect(after.open(secret, contextOf('Webhook', 'secret', id))).toBe(`secret of ${id}`);
    }
  });

  test('reports and keeps secrets that it cannot open, and continues', async () => {
    const stranger = createSecretBox(parseKeyring(`lost:${randomBytes(32).toString('base64')}`));
    const [lost] = await addWebhooks(1, stranger);
    const original = await db.prisma.webhook.findUniqueOrThrow({ where: { id: lost! } });
    await addWebhooks(3, before);
    const [moved] = await addWebhooks(1, before);
    await db.prisma.webhook.update({ where: { id: moved! }, data: { secret: 'nonsense' } });
    const report = await rotate(2);
    expect(report).toMatchObject({ rotated: 3, remaining: 2 });
    expect(report.unreadable.map(({ rowId }) => rowId)).toEqual([lost, moved]);
    expect(await db.prisma.webhook.findUniqueOrThrow({ where: { id: lost! } })).toEqual(original);
  });

  test('counts the API keys that still need the old key', async () => {
    const key = { projectId, name: 'key', environment: 'TEST' as const, last4: 'abcd' };
    await db.prisma.apiKey.createMany({
      data: [
        { ...key, id: newId('ApiKey'), hash: 'old$1' },
        { ...key, id: newId('ApiKey'), hash: 'old$2', revokedAt: new Date() },
        { ...key, id: newId('ApiKey'), hash: 'new$3' },
      ],
    });
    expect((await rotate()).apiKeysUnderOlderKeys).toBe(1);
  });
});

describe('the command rotate-secrets', () => {
  const script = resolve(import.meta.dirname, '../../scripts/rotate-secrets.ts');
  const run = (secretKeys: string) =>
    promisify(execFile)(process.execPath, [script], {
      env: { ...INHERITED, DATABASE_URL: database.url, SECRET_KEYS: secretKeys },
    });

  test('rotates and reports, without showing a secret', async () => {
    const [id] = await addWebhooks(1, before);
    const { stdout, stderr } = await run(`${NEW},${OLD}`);
    expect(JSON.parse(stdout)).toMatchObject({ currentKey: 'new', rotated: 1, remaining: 0 });
    expect(stdout + stderr).not.toContain(`secret of ${id}`);
    for (const key of [OLD, NEW]) expect(stdout + stderr).not.toContain(key.split(':')[1]);
  });

  test('exits with status 1 while a secret cannot be opened', async () => {
    await addWebhooks(1, before);
    await expect(run(NEW)).rejects.toMatchObject({ code: 1, stdout: expect.stringContaining('"remaining": 1') });
  });

  test('exits with status 1 and a message if the configuration is invalid', async () => {
    const failure = { code: 1, stdout: '', stderr: expect.stringContaining('SECRET_KEYS') };
    await expect(run('nonsense')).rejects.toMatchObject(failure);
  });
});
