import pino from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDatabase } from '../../src/database/client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

const log = pino({ level: 'silent' });
let databases: [TestDatabase, TestDatabase];

beforeAll(async () => {
  databases = [await createTestDatabase(), await createTestDatabase()];
});
afterAll(async () => {
  for (const database of databases ?? []) await database.drop();
});

describe('a database behind a pooler', () => {
  test('is not opened if the direct URL points to another database', async () => {
    const [{ url }, { url: directUrl }] = databases;
    await expect(openDatabase({ url, directUrl, poolSize: 1, log })).rejects.toThrow(
      'DATABASE_DIRECT_URL has a different server, database, or user than DATABASE_URL.',
    );
  });

  test('is not opened if its sessions lack the required settings', async () => {
    const [{ url }] = databases;
    const directUrl = `${url}${url.includes('?') ? '&' : '?'}application_name=direct`;
    await expect(openDatabase({ url, directUrl, poolSize: 1, log })).rejects.toThrow('required settings');
  });
});
