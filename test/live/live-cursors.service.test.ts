import { createClient } from 'graphql-sse';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { createNotice } from '../support/notices.ts';
import { createPayment } from '../support/payments.ts';
import { createEndpoint, createKey, createProject, createWebhook } from '../support/resources.ts';

let app: TestApp;
let alice: TestUser;

beforeAll(async () => {
  // Without a worker, deliveries don't change on their own.
  app = await startTestApp({ env: { ROLES: 'api' } });
  alice = await app.user('alice', 'ENTERPRISE');
});
afterAll(() => app?.stop());

/** For each cursor, its subscription, and the field of an item that has the resource. */
const SUBSCRIPTIONS = {
  events: ['eventRecorded', 'event'],
  deliveries: ['deliveryUpdated', 'delivery'],
  payments: ['paymentUpdated', 'payment'],
  replays: ['replayUpdated', 'replay'],
  notices: ['noticeUpdated', 'notice'],
} as const;
type Name = keyof typeof SUBSCRIPTIONS;
const NAMES = Object.keys(SUBSCRIPTIONS) as Name[];

async function cursorsOf(projectId: string): Promise<Record<Name, string>> {
  const { data, errors } = await alice.graphql<{ project: { liveCursors: Record<Name, string> } }>(
    `query ($id: ID!) { project(id: $id) { liveCursors { ${NAMES.join(' ')} } } }`,
    { id: projectId },
  );
  expect(errors).toBeUndefined();
  return data!.project.liveCursors;
}

/** The ID of the first item after a cursor. */
async function firstAfter(name: Name, projectId: string, after: string): Promise<string> {
  const [field, item] = SUBSCRIPTIONS[name];
  const query = `subscription ($projectId: ID!, $after: String) {
    ${field}(projectId: $projectId, after: $after) { cursor ${item} { id } }
  }`;
  const headers = { authorization: `Bearer ${alice.token}` };
  const client = createClient({ url: `${app.url}/graphql`, headers, retryAttempts: 0 });
  const items = client.iterate<Record<string, Record<string, { id: string }>>>({
    query,
    variables: { projectId, after },
  });
  for await (const { data } of items) {
    client.dispose();
    return data![field]![item]!.id;
  }
  throw new Error('The subscription has ended');
}

test('a subscription from a live cursor shows everything since then, and nothing from before', async () => {
  const { id: projectId, base } = await createProject(alice);
  const inRest = async (path: string) =>
    (await alice.rest<{ data: { id: string }[] }>('GET', `${base}/${path}`)).body.data[0]!.id;
  const { id: webhookId } = await createWebhook(alice, base);
  /** Causes something in each list, and returns the newest ID of each. */
  const cause = async (mark: string): Promise<Record<Name, string>> => {
    const { id: endpointId } = await createEndpoint(alice, base);
    const [events, deliveries] = [await inRest('events'), await inRest('deliveries')];
    const { paymentId } = await createPayment(app, { projectId, endpointId, mark });
    const { body } = await alice.rest<{ replay: { id: string } }>('POST', `${base}/replays`, { all: true });
    await alice.rest('POST', `${base}/replays/${body.replay.id}/cancel`);
    return {
      events,
      deliveries,
      payments: paymentId,
      replays: body.replay.id,
      notices: await createNotice(app, { projectId, subjectId: `${webhookId}-${mark}` }),
    };
  };

  // At first, all lists are empty.
  for (const round of ['first', 'second']) {
    const before = await cursorsOf(projectId);
    const caused = await cause(round);
    const shown = await Promise.all(
      NAMES.map(async (name) => [name, await firstAfter(name, projectId, before[name])] as const),
    );
    expect(Object.fromEntries(shown), round).toEqual(caused);
  }
});

test.each([
  ['DELIVERIES', ['events', 'deliveries', 'replays']],
  ['PAYMENTS', ['payments']],
])('a key with only the scope %s gets no other cursors than %j', async (scope, allowed) => {
  const { id: projectId, base } = await createProject(alice);
  const key = app.caller((await createKey(alice, base, { scopes: [scope] })).key);
  for (const name of NAMES) {
    const { data, errors } = await key.graphql(
      'query ($id: ID!) { project(id: $id) { id liveCursors { cursor: NAME } } }'.replace('NAME', name),
      { id: projectId },
    );
    if (!allowed.includes(name)) expect(errors![0]!.extensions.code, name).toBe('FORBIDDEN');
    else expect(data, name).toMatchObject({ project: { liveCursors: { cursor: expect.any(String) } } });
  }
});
