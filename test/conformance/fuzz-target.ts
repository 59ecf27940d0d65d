import { startTestApp } from '../support/app.ts';
import { createNotice } from '../support/notices.ts';
import { operatorsEnv, userIdOf } from '../support/operator.ts';
import { createPayment } from '../support/payments.ts';
import { createConnector, createEndpoint, createKey, createProject, createWebhook } from '../support/resources.ts';

/** This type's credentials can't be checked, so testing the connector sends no requests. */
export const QUIET_CONNECTOR = {
  type: 'zapier',
  config: { webhookUrl: 'https://hooks.zapier.com/hooks/catch/1234567/abcdefg/' },
};

/**
 * Starts a service that sends nothing and has one of every resource. Alice is an operator, and `userId` is someone
 * else. The IDs are named as in REST paths.
 */
export async function openFuzzTarget(env: Record<string, string> = {}) {
  // Without a worker, the service never sends anything that it accepts.
  const app = await startTestApp({ env: { EGRESS_ALLOW: '', ROLES: 'api', ...operatorsEnv('alice'), ...env } });
  const alice = await app.user('alice', 'ENTERPRISE');
  const { base, id: projectId } = await createProject(alice);
  const { id: webhookId } = await createWebhook(alice, base);
  const { id: endpointId } = await createEndpoint(alice, base);
  const { body } = await alice.rest<{ data: { id: string; eventId: string }[] }>('GET', `${base}/deliveries`);
  const { body: started } = await alice.rest<{ replay: { id: string } }>('POST', `${base}/replays`, { all: true });
  const ids: Record<string, string> = {
    projectId,
    webhookId,
    endpointId,
    keyId: (await createKey(alice, base)).id,
    connectorId: (await createConnector(alice, base, QUIET_CONNECTOR)).id,
    deliveryId: body.data[0]!.id,
    eventId: body.data[0]!.eventId,
    replayId: started.replay.id,
    userId: await userIdOf(await app.user('subordinate')),
    noticeId: await createNotice(app, { projectId, subjectId: webhookId }),
    ...(await createPayment(app, { projectId, endpointId, mark: 'weather' })),
  };
  return { app, alice, ids };
}
