import {
  type GraphQLNamedType,
  type GraphQLObjectType,
  getNamedType,
  isAbstractType,
  isLeafType,
  isObjectType,
  isRequiredArgument,
} from 'graphql';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SCOPES, type Scope } from '../../src/auth/permissions.ts';
import { schema } from '../../src/graphql/schema.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { createKey } from '../support/resources.ts';
import { isForOperators, OPERATIONS, type Operation, type Request } from './isolation-operations.ts';
import { createTenants, type Home, type Tenants } from './isolation-tenants.ts';
import { EXPECTED, type Expected, PROJECT_FIELDS_FOR_DELIVERIES } from './permission-table.ts';

/** Every set of scopes, including none. */
const SETS = Array.from({ length: 2 ** SCOPES.length }, (_none, bits) =>
  SCOPES.filter((_scope, at) => bits & (2 ** at)),
);
const STREAM_MILLISECONDS = 60_000;

let app: TestApp;
let sql: pg.Pool;
let tenants: Tenants;
let home: Home;
const keys = new Map<string, TestUser>();

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api' } });
  sql = new pg.Pool({ connectionString: app.databaseUrl, max: 2 });
  tenants = await createTenants(app);
  home = tenants.secret;
  for (const scopes of SETS) keys.set(scopes.join(), await keyOf(home, scopes));
});
afterAll(async () => {
  await tenants?.close();
  await sql?.end();
  await app?.stop();
});

/** Creates a key for a home's project. The API doesn't create keys without scopes, but such a key must not be able to do anything. */
async function keyOf({ ids }: Home, scopes: readonly Scope[]): Promise<TestUser> {
  const { id, key } = await createKey(tenants.bob, `/api/projects/${ids.Project}`);
  await sql.query('UPDATE "ApiKey" SET scopes = $2::text[]::"ApiKeyScope"[] WHERE id = $1', [id, scopes]);
  return app.caller(key);
}

async function ask(caller: TestUser, request: Request) {
  const isGraphQL = request.kind === 'graphql';
  const body = isGraphQL ? { query: request.query, variables: request.variables } : request.body;
  const response = await fetch(app.url + (isGraphQL ? '/graphql' : request.path), {
    method: isGraphQL ? 'POST' : request.method,
    headers: {
      authorization: `Bearer ${caller.token}`,
      ...(isGraphQL && request.isStream && { accept: 'text/event-stream' }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(STREAM_MILLISECONDS),
  });
  return { status: response.status, body: await response.text() };
}

/** Reads get the home's identifiers. Changes and streams get ones that don't exist, so that none of them succeed. */
function harmless({ slots, isWrite, name, request }: Operation): Request {
  const isStream = name.startsWith('subscription');
  const ids = isWrite || isStream ? tenants.strangers['another user']!.ids.missing : home.ids;
  return request(Object.fromEntries(slots.map((slot) => [slot.name, ids[slot.type]])));
}

const real = ({ slots, request }: Operation, { ids }: Home): Request =>
  request(Object.fromEntries(slots.map(({ name, type }) => [name, ids[type]])));

function isAllowed(expected: Expected, scopes: readonly Scope[]): boolean {
  if (expected === 'people') return false;
  return expected === 'everyone' || expected.some((scope) => scopes.includes(scope));
}

test('the table has exactly one row for every operation', () => {
  expect(Object.keys(EXPECTED).sort()).toEqual(OPERATIONS.map(({ name }) => name).sort());
});

describe('with every set of scopes, a key can do exactly what the table says', () => {
  test.each(OPERATIONS.map((operation) => [operation.name, operation] as const))('%s', async (name, operation) => {
    const expected = EXPECTED[name]!;
    for (const scopes of SETS) {
      const { status, body } = await ask(keys.get(scopes.join())!, harmless(operation));
      const isRefused = status === 403 || body.includes('"FORBIDDEN"');
      expect({ scopes, isAllowed: !isRefused }, body).toEqual({ scopes, isAllowed: isAllowed(expected, scopes) });
      if (isRefused && expected !== 'people') expect(body).toMatch(/does not have the scope \w+/);
    }
  });
});

describe('with every set of scopes, a key can read exactly these fields of its project', () => {
  const project = schema.getType('Project') as GraphQLObjectType;
  test.each(Object.values(project.getFields()).map((field) => [field.name, field] as const))(
    '%s',
    async (name, field) => {
      const selection = isLeafType(getNamedType(field.type)) ? '' : '{ __typename }';
      const id = `"${home.ids[getNamedType(field.type).name as keyof Home['ids']]}"`;
      const args = field.args.some(isRequiredArgument) ? `(id: ${id})` : '';
      const query = `{ project(id: "${home.ids.Project}") { ${name}${args} ${selection} } }`;
      const needed: Scope[] =
        name === 'id' || PROJECT_FIELDS_FOR_DELIVERIES.has(name) ? ['READ', 'DELIVERIES'] : ['READ'];
      for (const scopes of SETS) {
        const { data, errors } = await keys.get(scopes.join())!.graphql(query);
        const code = errors?.[0]?.extensions.code;
        expect({ scopes, code }).toEqual({ scopes, code: isAllowed(needed, scopes) ? undefined : 'FORBIDDEN' });
        if (code) expect((data as { project: Record<string, unknown> | null }).project?.[name] ?? null).toBeNull();
      }
    },
  );
});

test('without READ, a key can read a project only in the result of a mutation that requires WRITE', () => {
  const mutations = Object.values(schema.getMutationType()!.getFields());
  const leading = mutations.filter(({ type }) => typesBelow(getNamedType(type)).has('Project'));
  expect(Object.fromEntries(leading.map(({ name }) => [name, EXPECTED[`mutation ${name}`]]))).toEqual({
    acceptTransfer: 'people',
    copyProject: 'people',
    createProject: 'people',
    verifyGatewayHost: 'people',
    updateProject: ['WRITE'],
  });
});

/** The names of a type and of all types that its fields lead to. */
function typesBelow(type: GraphQLNamedType, seen = new Set<string>()): Set<string> {
  if (seen.has(type.name)) return seen;
  seen.add(type.name);
  if (isAbstractType(type)) for (const one of schema.getPossibleTypes(type)) typesBelow(one, seen);
  else if (isObjectType(type))
    for (const field of Object.values(type.getFields())) typesBelow(getNamedType(field.type), seen);
  return seen;
}

test('requests that a key is not allowed to send change nothing, even with the identifiers of its own project', async () => {
  const before = await tenants.snapshot();
  for (const scopes of SETS) {
    for (const operation of OPERATIONS.filter(({ isWrite }) => isWrite)) {
      if (isAllowed(EXPECTED[operation.name]!, scopes)) continue;
      const { status, body } = await ask(keys.get(scopes.join())!, real(operation, home));
      expect(status === 403 || body.includes('"FORBIDDEN"'), `${operation.name} with ${scopes}: ${body}`).toBe(true);
    }
  }
  expect(await tenants.snapshot()).toEqual(before);
});

/** Changes for which the operation's usual body also needs `CREDENTIALS`. */
const WITH_CREDENTIALS = /(PATCH .*:(webhookId|connectorId)|update(Webhook|Connector))$/;

describe('a key with only the permission that a change requires can make the change and read its result', () => {
  const rank = (name: string) => (/delete/i.test(name) ? 1 : 0);
  const changes = OPERATIONS.filter(
    (operation) => operation.isWrite && EXPECTED[operation.name] !== 'people' && !isForOperators(operation),
  ).toSorted((one, other) => rank(one.name) - rank(other.name));
  const isRest = ({ name }: Operation) => /^[A-Z]+ \//.test(name);
  test.each([
    ['REST', changes.filter(isRest)],
    ['GraphQL', changes.filter((operation) => !isRest(operation))],
  ])('%s', async (_api, operations) => {
    const own = await tenants.furnish(`matrix${_api.toLowerCase()}`);
    for (const operation of operations) {
      const expected = EXPECTED[operation.name]!;
      const scopes = [
        ...(Array.isArray(expected) ? [expected[0] as Scope] : []),
        ...(WITH_CREDENTIALS.test(operation.name) ? ['CREDENTIALS' as const] : []),
      ];
      const { status, body } = await ask(
        await keyOf(own, scopes),
        isRest(operation) ? real(operation, own) : shallow(operation, own),
      );
      expect(status, `${operation.name}: ${body}`).toBeLessThan(300);
      expect(body, operation.name).not.toContain('"errors":[');
    }
  });
});

/** The mutation without the nested objects in its result, which need other permissions. */
function shallow(operation: Operation, own: Home): Request {
  const request = real(operation, own);
  if (request.kind !== 'graphql') return request;
  return { ...request, query: request.query.replace(/(\(input: \$input\)) .*$/s, '$1 { __typename } }') };
}
