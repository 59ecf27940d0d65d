import { afterAll, beforeAll, expect, test } from 'vitest';
import { listExpiringCredentials } from '../../../src/features/connectors/expiring-credentials.ts';
import { openStage, type Stage } from '../../delivery/support.ts';

const DAY_MILLISECONDS = 24 * 60 * 60 * 1000;
let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

test('credentials that end within 60 days are listed, soonest first, and no others', async () => {
  const endingIn = (days: number | null, values = {}) =>
    stage.addConnector(
      'quickbooks',
      {},
      {
        credentialExpiresAt: days === null ? null : new Date(Date.now() + days * DAY_MILLISECONDS),
        ...values,
      },
    );
  const later = await endingIn(59.9);
  const soon = await endingIn(0.1);
  await endingIn(60.1);
  await endingIn(-0.1);
  await endingIn(null);
  await endingIn(10, { isActive: false });

  const found = await listExpiringCredentials(stage, { withinDays: 60 });
  expect(found).toEqual(
    [soon, later].map((id) => ({
      ...{ id, projectId: stage.projectId, type: 'quickbooks' },
      credentialExpiresAt: expect.any(Date) as unknown as Date,
    })),
  );
});
