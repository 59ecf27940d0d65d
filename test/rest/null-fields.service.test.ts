import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import { BODY_EXAMPLES } from '../../src/rest/body-examples.ts';
import { ROUTES } from '../../src/rest/routes.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { operatorsEnv, userIdOf } from '../support/operator.ts';
import { createConnector, createEndpoint, createProject, createWebhook } from '../support/resources.ts';
import { openRest, type Rest } from '../support/rest.ts';

type Schema = {
  $ref?: string;
  type?: string | string[];
  anyOf?: Schema[];
  required?: string[];
  properties?: Record<string, Schema>;
};
type Problem = { errors?: { pointer: string; message: string }[] };

let app: TestApp;
let rest: Rest;
let alice: TestUser;

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api', NETWORKS: 'base,base-sepolia', ...operatorsEnv('alice') } });
  rest = await openRest(app);
  alice = await app.user('alice', 'ENTERPRISE');
});
afterAll(() => app?.stop());

function resolved(schema: Schema): Schema {
  const name = schema.$ref?.split('/').at(-1);
  return name === undefined ? schema : (rest.openapi.document.components as unknown as Components).schemas[name]!;
}
type Components = { schemas: Record<string, Schema> };

function allowsNull(schema: Schema): boolean {
  const { type, anyOf } = resolved(schema);
  if (anyOf) return anyOf.some(allowsNull);
  return type === undefined || [type].flat().includes('null');
}

/** The schema of an operation's body. */
function bodyOf({ method, path }: { method: string; path: string }): Schema {
  const operation = rest.openapi.document.paths[path.replaceAll(/:(\w+)/g, '{$1}')]![method.toLowerCase()]!;
  return resolved(operation.requestBody!.content['application/json']!.schema as Schema);
}

/** The operation's path with resources that exist, except where the value of a field is checked before the resource. */
async function pathOf(path: string): Promise<string> {
  const { id: projectId, base } = await createProject(alice);
  const idOf: Record<string, () => Promise<string>> = {
    projectId: async () => projectId,
    endpointId: async () => (await createEndpoint(alice, base)).id,
    connectorId: async () => (await createConnector(alice, base)).id,
    webhookId: async () => (await createWebhook(alice, base)).id,
    userId: async () => userIdOf(await app.user('changed')),
  };
  let url = path;
  for (const [parameter, name] of path.matchAll(/:(\w+)/g)) {
    url = url.replace(parameter, (await idOf[name!]?.()) ?? newId('ProjectMember'));
  }
  return url;
}

const CHANGES = ROUTES.filter(({ method }) => method === 'PATCH');

test.each(CHANGES)('$operationId accepts null exactly where the contract allows it', async (route) => {
  const url = await pathOf(route.path);
  const { properties = {} } = bodyOf(route);
  expect(Object.keys(properties)).not.toEqual([]);
  const [allowed, accepted]: Record<string, unknown>[] = [{}, {}];
  for (const [field, schema] of Object.entries(properties)) {
    const { status, body } = await alice.rest<Problem>('PATCH', url, { [field]: null });
    allowed![field] = allowsNull(schema);
    // Any other status, or an error about something else, is a surprise.
    const refused = status === 422 && body.errors?.every(({ pointer }) => pointer === `/${field}`) ? false : status;
    accepted![field] = status === 200 ? true : refused;
  }
  expect(accepted).toEqual(allowed);
});

/** Messages about several fields, of which the example has another one. */
const CHOICES = /^(Required unless|Required\. To resend|Send either)/;
const ADDITIONS = ROUTES.filter(({ method }) => method === 'POST');

test.each(ADDITIONS)('$operationId refuses null exactly where the contract forbids it', async (route) => {
  const url = await pathOf(route.path);
  const example = JSON.stringify(BODY_EXAMPLES[route.operationId]);
  // An imported document without servers needs an `upstreamUrl`.
  const good: object = JSON.parse(example.replace('paths:', 'servers: [{ url: https://api.example.com }]\\npaths:'));
  const [forbidden, refused]: Record<string, unknown>[] = [{}, {}];
  for (const [field, schema] of Object.entries(bodyOf(route).properties ?? {})) {
    const { body } = await alice.rest<Problem>('POST', url, { ...good, [field]: null });
    const about = (body?.errors ?? []).filter(({ pointer }) => pointer === `/${field}`);
    forbidden![field] = !allowsNull(schema);
    refused![field] = about.some(({ message }) => !CHOICES.test(message));
  }
  expect(refused).toEqual(forbidden);
});

test.each([
  { operationId: 'updateConnector', field: 'config' },
  { operationId: 'createConnector', field: 'config' },
  { operationId: 'testEventFilter', field: 'filter' },
])('$field of $operationId, which is JSON in GraphQL, takes only objects', async ({ operationId, field }) => {
  const route = ROUTES.find((one) => one.operationId === operationId)!;
  const url = await pathOf(route.path);
  for (const value of [[], 'x', 1, true]) {
    const sent = { ...BODY_EXAMPLES[operationId], [field]: value };
    const { status, body } = await alice.rest<Problem>(route.method, url, sent);
    expect(status, JSON.stringify(value)).toBe(422);
    expect(body.errors).toMatchObject([{ pointer: `/${field}` }]);
  }
});
