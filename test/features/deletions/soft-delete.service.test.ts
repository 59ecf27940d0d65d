import pino from 'pino';
import { expect, test } from 'vitest';
import { openDatabase } from '../../../src/database/client.ts';
import { behindWall } from '../../../src/database/tenant-client.ts';
import type { VisibleProjectId } from '../../../src/database/tenant-filter.ts';
import { DELETED_USER_ID, softDeleteProject } from '../../../src/features/deletions/soft-delete.ts';
import { newId } from '../../../src/ids.ts';
import { createTestDatabase } from '../../support/database.ts';

test('a deleted project contains nothing that its owner wrote, even before its history is cleared', async () => {
  const database = await createTestDatabase();
  const db = await openDatabase({ url: database.url, poolSize: 2, log: pino({ level: 'silent' }) });
  try {
    const id = newId('Project');
    const secrets = { upstreamHeaders: [{ name: 'X-Key', value: '••••cret' }], secretUpstreamHeaders: 'sealed' };
    const texts = {
      name: 'Shop',
      description: 'Weather',
      iconUrl: 'https://shop.example/icon.png',
      contact: 'a@shop.example',
    };
    const hosts = { gatewayHost: 'shop.example', claimedHost: 'weather.example', slug: 'shop' };
    const data = { id, userId: DELETED_USER_ID, walletAddress: '0x0', ...texts, ...hosts, ...secrets };
    await db.prisma.project.create({ data });
    await behindWall(db).prisma.$transaction((tx) => softDeleteProject(tx, id as VisibleProjectId));
    expect(await db.prisma.project.findUnique({ where: { id } })).toMatchObject({
      name: '',
      description: null,
      iconUrl: null,
      contact: null,
      upstreamHeaders: null,
      secretUpstreamHeaders: null,
      gatewayHost: null,
      claimedHost: null,
      slug: null,
    });
  } finally {
    await db.close();
    await database.drop();
  }
});
