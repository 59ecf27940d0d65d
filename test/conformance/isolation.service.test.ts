import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectSocket } from '../graphql/socket-client.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { operatorsEnv } from '../support/operator.ts';
import { createEndpoint } from '../support/resources.ts';
import {
  FOR_TWO,
  isForOperators,
  OPERATIONS,
  type Operation,
  type Request,
  schemaFields,
  selected,
  uncovered,
  type Values,
  WITH_VENDOR,
} from './isolation-operations.ts';
import {
  createTenants,
  type Home,
  type Stranger,
  type Tenants,
  VARIANTS,
  type Variant,
  walletOf,
} from './isolation-tenants.ts';

const STRANGERS = [
  'another user',
  'an API key of another tenant',
  'an API key of another project of the same user',
  'a member of another project of the same user',
];
const REQUEST_ID = 'request-of-the-isolation-test';
const DATE_AND_LENGTH = new Set(['date', 'content-length', 'connection', 'keep-alive']);
/**
 * For each variant, the variant with the same response. Identifiers that can't exist are rejected before any lookup.
 */
const LIKE = {
  foreign: 'missing',
  missing: 'missing',
  deleted: 'missing',
  malformed: 'malformed',
  miscased: 'malformed',
  // The error names the types, and is the same whether or not the resource exists.
  wrongTypeOwn: 'wrongTypeMissing',
  wrongTypeForeign: 'wrongTypeMissing',
  wrongTypeMissing: 'wrongTypeMissing',
} as const satisfies Record<Variant, Variant>;
/** Attempts aren't nodes, so for `node`, their IDs have the wrong type. */
const ATTEMPTS: Partial<Record<Variant | 'own', Variant | 'own'>> = {
  wrongTypeOwn: 'own',
  wrongTypeForeign: 'foreign',
  wrongTypeMissing: 'missing',
};
const STREAM_MILLISECONDS = 60_000;
const LOCKED_TABLES = ['Project', 'Endpoint', 'Webhook', 'Connector', 'Replay', 'ProjectMember', 'Invitation'] as const;

let app: TestApp;
let tenants: Tenants;

beforeAll(async () => {
  // Without a worker, nothing changes on its own. An operator's API keys have none of the operator's rights.
  app = await startTestApp({ env: { ROLES: 'api', ...operatorsEnv('bob') } });
  tenants = await createTenants(app);
});
afterAll(async () => {
  await tenants?.close();
  await app?.stop();
});

type TestResponse = { status: number; headers: string; body: string };

async function ask(caller: TestUser, request: Request, headers: Record<string, string> = {}): Promise<TestResponse> {
  const isGraphQL = request.kind === 'graphql';
  const body = isGraphQL ? { query: request.query, variables: request.variables } : request.body;
  const response = await fetch(app.url + (isGraphQL ? '/graphql' : request.path), {
    method: isGraphQL ? 'POST' : request.method,
    headers: {
      authorization: `Bearer ${caller.token}`,
      'x-request-id': REQUEST_ID,
      ...(isGraphQL && request.isStream && { accept: 'text/event-stream' }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    // No stream should open here. If one did, it would never end on its own.
    signal: AbortSignal.timeout(STREAM_MILLISECONDS),
  });
  const kept = [...response.headers].filter(([name]) => !DATE_AND_LENGTH.has(name));
  return { status: response.status, headers: JSON.stringify(kept), body: await response.text() };
}

/** Returns the response without the identifiers that were sent, because it can repeat them. */
async function askWith(caller: TestUser, operation: Operation, values: Values): Promise<TestResponse> {
  const answer = await ask(caller, operation.request(values));
  const sent = Object.values(values).filter((value) => value !== undefined);
  const body = sent.reduce((text, id) => text.replaceAll(id, '<id>'), answer.body);
  return { ...answer, body };
}

function expectNothingForeign({ headers, body }: TestResponse): void {
  const { mark, key, ids } = tenants.secret;
  const { User: _sharedWithTheOtherProject, ...own } = ids;
  for (const secret of [mark, key, ...Object.values(own)]) expect(headers + body).not.toContain(secret);
  expect(body.toLowerCase()).not.toContain(walletOf(mark));
}

/** Whether a response shows a home's resources. Customers, totals, and the audit log don't contain its mark. */
function shows(body: string, { mark, ids }: Home, operation: string): boolean {
  if (isForOperators({ name: operation })) return body.includes(tenants.subordinateId);
  if (operation === 'query project.auditLog') return body.includes('"targetId":');
  if (operation === 'query project.paymentTotals') return true;
  // Every home has one customer. A customer from another home would raise the count.
  if (operation === 'query project.customerTotals') return body.includes('"customerCount":1,');
  // A secret contains no mark. A stranger gets an error instead, and an API key never gets the value.
  if (/\/upstream-secret$/.test(operation)) return /^\{"upstreamSecret":("whsec_[^"]+"|null),/.test(body);
  if (/revenue\/export$/.test(operation)) return body.includes('\r\n2');
  if (/audit-log\/export$/.test(operation)) return body.includes('\r\naud_');
  if (/buyer-rules$/.test(operation)) return body.toLowerCase().includes(walletOf(mark));
  // Every home has two failed deliveries. A delivery from another home would raise the count.
  if (/delivery-?stats/i.test(operation)) return /"totals":\{[^}]*"failedCount":2\b/.test(body);
  return body.includes(mark) || body.includes(ids.Customer);
}

const slotted = OPERATIONS.filter(({ slots }) => slots.length > 0);
const unslotted = OPERATIONS.filter(({ slots, isWrite }) => slots.length === 0 && !isWrite);

/**
 * Several sets of values: all identifiers come from one variant, only one of them does and the rest are the caller's
 * own, or optional ones are left out.
 */
function mixtures({ slots }: Operation, ids: Stranger['ids'], variant: Variant): Values[] {
  const valuesBy = (kindOf: (index: number) => Variant | 'own') =>
    Object.fromEntries(
      slots.map(({ name, type, takesAnyNode }, index) => {
        const kind = kindOf(index);
        return [name, takesAnyNode && kind in ATTEMPTS ? ids[ATTEMPTS[kind]!].Attempt : ids[kind][type]];
      }),
    );
  const all = valuesBy(() => variant);
  const optional = slots.filter(({ isOptional }) => isOptional).map(({ name }) => name);
  return [
    all,
    ...(slots.length > 1 ? slots.map((_slot, changed) => valuesBy((at) => (at === changed ? variant : 'own'))) : []),
    ...(optional.length > 0
      ? [Object.fromEntries(Object.entries(all).filter(([name]) => !optional.includes(name)))]
      : []),
  ];
}

test('every operation is covered, with identifiers of known types', () => {
  expect(uncovered).toEqual([]);
  expect(schemaFields.filter((field) => !selected.has(field))).toEqual([]);
  expect(OPERATIONS.length).toBeGreaterThan(60);
});

describe.each(STRANGERS)('to %s, resources that they can’t see don’t exist', (name) => {
  let stranger: Stranger;
  let before: string[];
  beforeAll(async () => {
    stranger = tenants.strangers[name]!;
    before = await tenants.snapshot();
  });

  test.each(slotted.map((operation) => [operation.name, operation] as const))('%s', async (_name, operation) => {
    const responsesOf = (variant: Variant) =>
      Promise.all(
        mixtures(operation, stranger.ids, variant).map((values) => askWith(stranger.caller, operation, values)),
      );
    const expected = {
      missing: await responsesOf('missing'),
      malformed: await responsesOf('malformed'),
      wrongTypeMissing: await responsesOf('wrongTypeMissing'),
    };
    const known: Partial<Record<Variant, TestResponse[]>> = expected;
    for (const variant of VARIANTS) {
      const answers = known[variant] ?? (await responsesOf(variant));
      for (const answer of answers) expectNothingForeign(answer);
      expect({ variant, answers }).toEqual({ variant, answers: expected[LIKE[variant]] });
    }
    // A query returns null for IDs that don't exist and an error for IDs that can't exist. All other operations return
    // an error for both. Only owners can transfer a project, so a member gets an error that says so, even for their own
    // project.
    if (operation.name.startsWith('query') || FOR_TWO.has(operation.name)) return;
    for (const answer of [...expected.missing, ...expected.malformed]) expect(answer).toEqual(expected.missing[0]);
  });

  test('none of these requests changed anything', async () => {
    const after = await tenants.snapshot();
    const [were, are] = [new Set(before), new Set(after)];
    expect(before.filter((row) => !are.has(row))).toEqual([]);
    expect(after.filter((row) => !were.has(row))).toEqual([]);
  });

  test('none of these requests waits for a lock on a row, so none can make the owner wait', async () => {
    const { caller, ids } = stranger;
    const holder = new pg.Client({ connectionString: app.databaseUrl });
    await holder.connect();
    await holder.query('BEGIN');
    for (const table of LOCKED_TABLES) {
      await holder.query(`SELECT FROM "${table}" WHERE "id" = $1 FOR UPDATE`, [ids.foreign[table]]);
    }
    const waited: string[] = [];
    for (const operation of slotted.filter(({ isWrite }) => isWrite)) {
      const { body } = await askWith(caller, operation, mixtures(operation, ids, 'foreign')[0]!);
      if (/"code":"(UNAVAILABLE|OUTCOME_UNCERTAIN)"/.test(body)) waited.push(operation.name);
    }
    await holder.end();
    expect(waited).toEqual([]);
  });

  test.each(unslotted.map((operation) => [operation.name, operation] as const))(
    '%s reveals nothing about other callers’ resources',
    async (_name, operation) => {
      const answer = await ask(stranger.caller, operation.request({}));
      expectNothingForeign(answer);
      const isHidden = isForOperators(operation) && operation.name.startsWith('GET');
      expect(answer.status).toBe(isHidden ? 404 : 200);
      if (!isHidden) expect(answer.body).not.toContain('"errors"');
    },
  );

  const readable = slotted.filter(
    ({ isWrite, name: title }) =>
      !isWrite &&
      !isForOperators({ name: title }) &&
      !/^(subscription|query nodes? of (Attempt|User|Viewer))/.test(title),
  );
  test.each(readable.map((operation) => [operation.name, operation] as const))(
    '%s shows only the caller’s own resources',
    async (title, operation) => {
      const own = Object.fromEntries(operation.slots.map(({ name, type }) => [name, stranger.home.ids[type]]));
      const answer = await ask(stranger.caller, operation.request(own));
      expect(answer.status).toBe(200);
      expect(answer.body).not.toContain('"errors"');
      expect(answer.body).toSatisfy((body: string) => shows(body, stranger.home, title));
      expectNothingForeign(answer);
    },
  );

  test('a page from another caller’s cursor contains none of that caller’s resources', async () => {
    const { Project: projectId, ...items } = tenants.secret.ids;
    const lists = { endpoints: 'Endpoint', apiKeys: 'ApiKey', webhooks: 'Webhook', connectors: 'Connector' } as const;
    const own = stranger.home.ids.Project;
    const requests: Request[] = Object.entries({ ...lists, events: 'Event', deliveries: 'Delivery' } as const).flatMap(
      ([list, type]) =>
        ['after', 'before'].map((argument) => ({
          kind: 'graphql',
          isStream: false,
          variables: {},
          query: `{ project(id: "${own}") { ${list}(${argument}: "${items[type]}") { nodes { id } } } }`,
        })),
    );
    const projects = ['after', 'before'].map((argument) => ({
      kind: 'graphql' as const,
      isStream: false,
      variables: {},
      query: `{ projects(${argument}: "${projectId}") { nodes { id name } } }`,
    }));
    for (const request of [...requests, ...projects]) {
      const answer = await ask(stranger.caller, request);
      expect(answer.body).toContain('"nodes"');
      expectNothingForeign(answer);
    }
  });

  test('an Idempotency-Key doesn’t return another caller’s stored response', async () => {
    const path = `/api/projects/${tenants.secret.ids.Project}/webhooks`;
    const body = { url: 'https://hooks.example.com/plantedmark-stored', eventTypes: ['*'] };
    const headers = { 'idempotency-key': `stored-${name.length}` };
    const stored = await ask(tenants.bob, { kind: 'rest', method: 'POST', path, body }, headers);
    expect(stored.status).toBe(201);
    const answer = await ask(stranger.caller, { kind: 'rest', method: 'POST', path, body }, headers);
    expect(answer.status).toBe(404);
    expect(answer.body).not.toContain(tenants.secret.mark);
  });

  test('a subscription over a WebSocket is also rejected', async () => {
    const client = await connectSocket(app.url, stranger.caller.token);
    for (const operation of OPERATIONS.filter(({ name: title }) => title.startsWith('subscription'))) {
      const refusals = new Map<Variant, string>();
      for (const variant of VARIANTS) {
        const request = operation.request({ projectId: stranger.ids[variant].Project });
        if (request.kind !== 'graphql') throw new Error('A subscription is GraphQL');
        client.send({ id: '1', type: 'subscribe', payload: { query: request.query, variables: request.variables } });
        const { type, payload } = await client.next(({ id }) => id === '1');
        // Some rejections are results of the operation, which then ends.
        if (type === 'next') await client.next(({ type: last }) => last === 'complete');
        const refusal = JSON.stringify({ type, payload });
        refusals.set(variant, refusal.replaceAll(stranger.ids[variant].Project, '<id>'));
      }
      for (const [variant, refusal] of refusals) {
        expect(refusal).toContain('NOT_FOUND');
        const isWrongType = LIKE[variant] === 'wrongTypeMissing';
        expect(refusal).toBe(refusals.get(isWrongType ? 'wrongTypeMissing' : 'missing'));
      }
    }
    await client.close();
  });

  test('a subscription to the caller’s own project shows no events of other projects, even from another project’s cursor', async () => {
    const client = await connectSocket(app.url, stranger.caller.token);
    const foreign = await cursorOf(tenants.bob, tenants.secret.ids.Project);
    const { query } = OPERATIONS.find(({ name: title }) => title === 'subscription eventRecorded')!.request({}) as {
      query: string;
    };
    const fromCursor = query.replace('projectId: $projectId', `projectId: $projectId, after: "${foreign}"`);
    expect(fromCursor).toContain(foreign);
    client.send({
      id: '2',
      type: 'subscribe',
      payload: { query: fromCursor, variables: { projectId: stranger.home.ids.Project } },
    });
    await createEndpoint(tenants.bob, `/api/projects/${tenants.secret.ids.Project}`, { description: 'plantedmark' });
    const owner = name.includes('same user') ? tenants.bob : tenants.strangers['another user']!.caller;
    const own = await createEndpoint(owner, `/api/projects/${stranger.home.ids.Project}`);
    await client.next((message) => JSON.stringify(message).includes(own.id));
    const text = JSON.stringify(client.received);
    expect(text).not.toContain(tenants.secret.ids.Project);
    expect(text).not.toContain(tenants.secret.mark);
    await client.close();
  });
});

/** Returns a cursor for a project's events, as the project's owner gets it. */
async function cursorOf(owner: TestUser, projectId: string): Promise<string> {
  const client = await connectSocket(app.url, owner.token);
  const query = `subscription { eventRecorded(projectId: "${projectId}") { cursor } }`;
  client.send({ id: '1', type: 'subscribe', payload: { query } });
  // Events before the subscription is active aren't sent.
  const changed = async () => {
    await createEndpoint(owner, `/api/projects/${projectId}`);
    return client.received.some(({ type }) => type === 'next');
  };
  await expect.poll(changed).toBe(true);
  const { payload } = await client.next(({ type }) => type === 'next');
  await client.close();
  return (payload as { data: { eventRecorded: { cursor: string } } }).data.eventRecorded.cursor;
}

/** Shows that the requests above are rejected because of who sends them, not because they are invalid. */
describe('every operation succeeds for the owner and returns their data', () => {
  // Reads first, then changes, then deletions.
  const rank = ({ name, isWrite }: Operation) => {
    if (/deleteProject$|DELETE [^:]*:projectId$/.test(name)) return 3;
    if (/(DELETE|delete|revoke|remove)/.test(name)) return 2;
    return isWrite ? 1 : 0;
  };
  const ownOperations = OPERATIONS.filter(
    ({ name }) => !WITH_VENDOR.has(name.replace('mutation ', '')) && !FOR_TWO.has(name),
  );
  const inOrder = ownOperations
    .filter(({ name }) => !/^(subscription|query nodes? of (Attempt|User|Viewer))/.test(name))
    .toSorted((a, b) => rank(a) - rank(b));
  const isRest = ({ name }: Operation) => /^[A-Z]+ \//.test(name);

  test.each([
    ['REST', inOrder.filter(isRest)],
    ['GraphQL', inOrder.filter((operation) => !isRest(operation))],
  ])('%s', async (_name, operations) => {
    const home = await tenants.furnish('controlmark');
    const ids = { ...home.ids, User: tenants.subordinateId };
    for (const operation of operations) {
      const values = Object.fromEntries(operation.slots.map(({ name, type }) => [name, ids[type]]));
      const answer = await ask(tenants.bob, operation.request(values));
      expect(answer, operation.name).toMatchObject({ status: expect.toSatisfy((status) => status < 300) });
      expect(answer.body, operation.name).not.toContain('"errors":[');
      if (!operation.isWrite && operation.slots.length > 0) {
        expect(answer.body, operation.name).toSatisfy((body: string) => shows(body, home, operation.name));
      }
    }
  });
});
