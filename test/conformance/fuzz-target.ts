import { startTestApp } from '../support/app.ts';
import { createPayment } from '../support/payments.ts';
import { createConnector, createEndpoint, createKey, createProject, createWebhook } from '../support/resources.ts';

/** Of a type whose credentials cannot be checked, so that trying it out calls nobody. */
export const QUIET_CONNECTOR = {
  type: 'zapier',
  config: { webhookUrl: 'https://hooks.zapier.com/hooks/catch/1234567/abcdefg/' },
};

/** A service that sends nothing anywhere, and a project in it with one of everything: the ids, named as in REST's paths. */
export async function openFuzzTarget() {
  // No worker: what is accepted here must not be sent anywhere.
  const app = await startTestApp({ env: { EGRESS_ALLOW: '', ROLES: 'api' } });
  const alice = await app.user('alice', 'ENTERPRISE');
  const { base, id: projectId } = await createProject(alice);
  const { id: webhookId } = await createWebhook(alice, base);
  const { id: endpointId } = await createEndpoint(alice, base);
  const { body } = await alice.rest<{ data: { id: string; eventId: string }[] }>('GET', `${base}/deliveries`);
  const { body: started } = await alice.rest<{ replay: { id: string } }>('POST', `${base}/replays`, {});
  const ids: Record<string, string> = {
    ...{ projectId, webhookId, endpointId, keyId: (await createKey(alice, base)).id },
    connectorId: (await createConnector(alice, base, QUIET_CONNECTOR)).id,
    ...{ deliveryId: body.data[0]!.id, eventId: body.data[0]!.eventId, replayId: started.replay.id },
    ...(await createPayment(app, { projectId, endpointId, mark: 'weather' })),
  };
  return { app, alice, ids };
}
