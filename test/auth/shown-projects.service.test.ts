import pino from 'pino';
import { expect, test } from 'vitest';
import { isVisible, rememberVisible, visibleItem } from '../../src/auth/access.ts';
import type { Viewer } from '../../src/auth/viewer.ts';
import { openDatabase } from '../../src/database/client.ts';
import { newId } from '../../src/ids.ts';
import { createTestDatabase } from '../support/database.ts';
import { WALLET } from '../support/resources.ts';

test('a subscription soon stops showing a project that its viewer can no longer see', async () => {
  const database = await createTestDatabase();
  const db = await openDatabase({ url: database.url, poolSize: 2, log: pino({ level: 'silent' }) });
  try {
    const [alice, other] = [newId('User'), newId('User')];
    for (const id of [alice, other]) {
      await db.prisma.user.create({ data: { id, issuer: 'https://issuer.example.com', subject: id } });
    }
    const viewer: Viewer = { kind: 'user', userId: alice, tier: 'PRO', requestsPerMinute: null, expiresAt: new Date() };
    const data = { id: newId('Project'), userId: alice, name: 'Shop', walletAddress: WALLET };
    const project = await db.prisma.project.create({ data });
    rememberVisible(viewer, [project]);
    expect(await isVisible(db.prisma, viewer, project.id)).toBe(true);

    // This is what deleting a project does: it moves the project to a reserved account.
    await db.prisma.project.update({ where: { id: project.id }, data: { userId: other } });

    await expect.poll(() => isVisible(db.prisma, viewer, project.id)).toBe(false);
    expect(visibleItem(viewer, 'Endpoint', newId('Endpoint'), project.id)).toHaveProperty('project');
  } finally {
    await db.close();
    await database.drop();
  }
});
