import { BODY_EXAMPLES } from '../../src/rest/body-examples.ts';
import type { RestRoute } from '../../src/rest/routes/route.ts';
import type { TestApp, TestUser } from './app.ts';
import { invite, join } from './members.ts';
import { createNotice } from './notices.ts';
import { userIdOf } from './operator.ts';
import { createPayment } from './payments.ts';
import { createConnector, createEndpoint, createKey, createProject, createWebhook } from './resources.ts';

/** A request that a route accepts. */
type RouteRequest = { caller: TestUser; path: string; body: object | undefined };
type Page = { data: { id: string }[] };

/**
 * Prepares a request for each route, with the body in the documentation. Everything that its path names is new, so that
 * requests don't disturb each other.
 *
 * @param alice an operator, who owns the projects.
 * @param bob gets invitations and offers.
 */
export function routeRequests(app: TestApp, alice: TestUser, bob: TestUser) {
  async function create<T>(path: string, body: object): Promise<T> {
    return (await alice.rest<T>('POST', path, body)).body;
  }

  /** Offers a project to Bob. */
  async function offer(base: string): Promise<string> {
    return (await create<{ id: string }>(`${base}/transfer`, { email: 'bob@example.com' })).id;
  }

  /** @returns the values of path parameters, each created when it is first needed. */
  function idsIn(base: string, projectId: string, label: string): Record<string, () => Promise<string>> {
    const pay = async () => {
      const { id: endpointId } = await createEndpoint(alice, base);
      return createPayment(app, { projectId, endpointId, mark: label });
    };
    const deliver = async () => {
      const { id } = await createWebhook(alice, base);
      return create<{ id: string; eventId: string }>(`${base}/webhooks/${id}/test`, {});
    };
    return {
      projectId: async () => projectId,
      keyId: async () => (await createKey(alice, base)).id,
      endpointId: async () => (await createEndpoint(alice, base)).id,
      connectorId: async () => (await createConnector(alice, base)).id,
      webhookId: async () => (await createWebhook(alice, base)).id,
      deliveryId: async () => (await deliver()).id,
      eventId: async () => (await deliver()).eventId,
      replayId: async () => (await create<{ replay: { id: string } }>(`${base}/replays`, { all: true })).replay.id,
      paymentId: async () => (await pay()).paymentId,
      customerId: async () => (await pay()).customerId,
      noticeId: async () => createNotice(app, { projectId, subjectId: (await createWebhook(alice, base)).id }),
      auditEntryId: async () => (await alice.rest<Page>('GET', `${base}/audit-log`)).body.data[0]!.id,
      memberId: async () => (await join(alice, base, bob, 'VIEWER')).id,
      invitationId: async () => (await invite(alice, base, bob, 'VIEWER')).id,
      transferId: () => offer(base),
      userId: async () => userIdOf(await app.user(label)),
    };
  }

  return async ({ path: template, operationId }: RestRoute): Promise<RouteRequest> => {
    const host = /GatewayHost/.test(operationId) && { gatewayHost: `${operationId.toLowerCase()}.example` };
    const { id: projectId, base } = await createProject(alice, { ...host });
    if (['getTransfer', 'withdrawTransfer'].includes(operationId)) await offer(base);
    const ids = idsIn(base, projectId, operationId);
    let path = template;
    for (const [parameter, name] of template.matchAll(/:(\w+)/g)) path = path.replace(parameter, await ids[name!]!());
    // A project can only be transferred to one of its members.
    const body =
      operationId === 'transferProject'
        ? { memberId: (await join(alice, base, bob, 'ADMIN')).id }
        : BODY_EXAMPLES[operationId];
    return { caller: /^(accept|decline)/.test(operationId) ? bob : alice, path, body };
  };
}
