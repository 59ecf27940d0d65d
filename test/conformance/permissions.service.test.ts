import {
  type GraphQLNamedType,
  type GraphQLObjectType,
  getNamedType,
  isAbstractType,
  isLeafType,
  isObjectType,
  isRequiredArgument,
  parse,
} from 'graphql';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROLE_PERMISSIONS, type Role, SCOPES, type Scope, VALUE_PERMISSIONS } from '../../src/auth/permissions.ts';
import { schema } from '../../src/graphql/schema.ts';
import {
  canKeyRun,
  canRoleRun,
  type DocumentRequirements,
  requirementsOf,
} from '../../src/schema/document-requirements.ts';
import { ROOT_FIELDS } from '../../src/schema/field-permissions.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { join, person } from '../support/members.ts';
import { operatorsEnv } from '../support/operator.ts';
import { createKey } from '../support/resources.ts';
import { isForOperators, OPERATIONS, type Operation, type Request, type Values } from './isolation-operations.ts';
import { createTenants, type Home, type Tenants } from './isolation-tenants.ts';

/** No scope, each scope alone, and all. Operations are allowed by one of several scopes, never by a pair. */
const SETS: readonly (readonly Scope[])[] = [[], ...SCOPES.map((scope) => [scope]), SCOPES];
/** From the one that can do the least to the one that can do the most. */
const ROLES = (Object.keys(ROLE_PERMISSIONS) as Role[]).toReversed();
const STREAM_MILLISECONDS = 60_000;

let app: TestApp;
let sql: pg.Pool;
let tenants: Tenants;
/** Its project has an API key for each set of scopes, and no members. */
let home: Home;
/** Its project has a member with each role. */
let team: Home;
let operator: TestUser;
let stranger: TestUser;
const keys = new Map<string, TestUser>();
const members = {} as Record<Role, TestUser>;

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api', GATEWAY_DOMAIN: 'shops.example', ...operatorsEnv('olga') } });
  sql = new pg.Pool({ connectionString: app.databaseUrl, max: 2 });
  tenants = await createTenants(app);
  home = tenants.secret;
  for (const scopes of SETS) keys.set(scopes.join(), await keyOf(home, scopes));
  team = await tenants.furnish('teammark');
  members.OWNER = tenants.bob;
  for (const role of ['ADMIN', 'DEVELOPER', 'VIEWER'] as const) {
    members[role] = await person(app, role.toLowerCase(), 'ENTERPRISE');
    await join(tenants.bob, `/api/projects/${team.ids.Project}`, members[role], role);
  }
  operator = await app.user('olga', 'ENTERPRISE');
  stranger = tenants.strangers['another user']!.caller;
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

async function ask(caller: TestUser | undefined, request: Request) {
  const isGraphQL = request.kind === 'graphql';
  const body = isGraphQL ? { query: request.query, variables: request.variables } : request.body;
  const response = await fetch(app.url + (isGraphQL ? '/graphql' : request.path), {
    method: isGraphQL ? 'POST' : request.method,
    headers: {
      ...(caller && { authorization: `Bearer ${caller.token}` }),
      ...(isGraphQL && request.isStream && { accept: 'text/event-stream' }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(STREAM_MILLISECONDS),
  });
  return { status: response.status, body: await response.text() };
}

type TestResponse = Awaited<ReturnType<typeof ask>>;

const isRefused = ({ status, body }: TestResponse) => status === 403 || body.includes('"FORBIDDEN"');
const isSignedOut = ({ status, body }: TestResponse) => status === 401 || body.includes('"UNAUTHENTICATED"');
/** Whether a response says that nothing is there. Queries return null instead of an error. */
const isHidden = ({ status, body }: TestResponse) =>
  status === 404 || body.includes('"NOT_FOUND"') || /^\{"data":\{"\w+":(null|\[null\])\}[,}]/.test(body);

const missingIds = () => tenants.strangers['another user']!.ids.missing;
const isStream = ({ name }: Operation) => name.startsWith('subscription');
const valuesOf = ({ slots }: Operation, ids: Home['ids']): Values =>
  Object.fromEntries(slots.map(({ name, type }) => [name, ids[type]]));

/** Reads get the home's identifiers. Changes and streams get ones that don't exist, so that none of them succeed. */
const harmless = (operation: Operation): Values =>
  valuesOf(operation, operation.isWrite || isStream(operation) ? missingIds() : home.ids);

/**
 * Without its object, a change or a stream ends before the fields of its result are read. Keys don't find the viewer that
 * their owner is.
 */
const requiredBy = (operation: Operation, values: Values): DocumentRequirements => {
  const required = operation.requires(values);
  const isFound = !operation.isWrite && !isStream(operation) && !operation.slots.some(({ type }) => type === 'Viewer');
  return isFound ? required : { ...required, nested: [] };
};

const real = (operation: Operation, { ids }: Home): Request => operation.request(valuesOf(operation, ids));

const named = (operations: readonly Operation[]) => operations.map((operation) => [operation.name, operation] as const);

describe('with each set of scopes, a key can do exactly what the table of permissions says', () => {
  test.each(named(OPERATIONS))('%s', async (_name, operation) => {
    const values = harmless(operation);
    const required = requiredBy(operation, values);
    const isForPeople = required.root.some((one) => one.isForPeople);
    for (const scopes of SETS) {
      const response = await ask(keys.get(scopes.join())!, operation.request(values));
      expect({ scopes, isAllowed: !isRefused(response) }, response.body).toEqual({
        scopes,
        isAllowed: canKeyRun(scopes, required),
      });
      if (isRefused(response) && !isForPeople) expect(response.body).toMatch(/does not have the scope \w+/);
    }
  });
});

/** Allowed requests that would delete the project, or look up its domain, get one that doesn't exist. */
const NOT_ON_THE_TEAM = /^(DELETE \/api\/projects\/:projectId|mutation deleteProject|.*verify|mutation verify.*)$/;

describe('with each role, a person can do exactly what the table of permissions says', () => {
  test.each(named(OPERATIONS))('%s', async (name, operation) => {
    const required = operation.requires(valuesOf(operation, team.ids));
    // Without a project, nothing is found in any of them.
    const isInProject = operation.slots.some(({ type }) => type === 'Project');
    for (const role of ROLES) {
      const isAllowed = !isInProject || canRoleRun(role, required);
      const isInTeam = !isStream(operation) && !(isAllowed && NOT_ON_THE_TEAM.test(name));
      // The project exists, so a role that isn't enough always shows. What would be changed in it doesn't exist.
      const ids = operation.isWrite ? { ...missingIds(), Project: team.ids.Project } : team.ids;
      const response = await ask(members[role], operation.request(valuesOf(operation, isInTeam ? ids : missingIds())));
      expect({ role, isAllowed: !isRefused(response) }, response.body).toEqual({ role, isAllowed });
      if (!isAllowed) expect(response.body).toContain(`Your role in this project is ${role}.`);
    }
  });
});

describe('without a credential or a role, nothing in the project is there', () => {
  test.each(named(OPERATIONS))('%s', async (_name, operation) => {
    const request = real(operation, home);
    const signedOut = await ask(undefined, request);
    expect(signedOut, signedOut.body).toSatisfy(isSignedOut);
    expect(signedOut.body).not.toContain(home.mark);

    const isInProject = operation.slots.length > 0;
    const isOfUser = operation.slots.some(({ type }) => type === 'User');
    for (const [who, caller] of Object.entries({ stranger, operator })) {
      const isOperator = who === 'operator';
      // Operators see users, also as nodes, and may change all except operators.
      const ids = { ...home.ids, ...(isOperator && { User: tenants.subordinateId }) };
      const response = await ask(caller, operation.request(valuesOf(operation, ids)));
      const isVisible = isForOperators(operation) || isOfUser ? isOperator : !isInProject;
      expect({ who, isHidden: isHidden(response) }, response.body).toEqual({ who, isHidden: !isVisible });
      if (!isVisible) expect(response.body).not.toContain(home.mark);
    }
  });
});

describe('with each set of scopes, a key can read exactly these fields of its project', () => {
  const project = schema.getType('Project') as GraphQLObjectType;
  test.each(Object.values(project.getFields()).map((field) => [field.name, field] as const))(
    '%s',
    async (name, field) => {
      const selection = isLeafType(getNamedType(field.type)) ? '' : '{ __typename }';
      const id = `"${home.ids[getNamedType(field.type).name as keyof Home['ids']]}"`;
      const args = field.args.some(isRequiredArgument) ? `(id: ${id})` : '';
      const query = `{ project(id: "${home.ids.Project}") { ${name}${args} ${selection} } }`;
      const required = requirementsOf(schema, parse(query));
      for (const scopes of SETS) {
        const { data, errors } = await keys.get(scopes.join())!.graphql(query);
        const code = errors?.[0]?.extensions.code;
        expect({ scopes, code }).toEqual({ scopes, code: canKeyRun(scopes, required) ? undefined : 'FORBIDDEN' });
        if (code) expect((data as { project: Record<string, unknown> | null }).project?.[name] ?? null).toBeNull();
      }
    },
  );
});

test('without READ, a key can read a project only in the result of a mutation that requires WRITE', () => {
  const mutations = Object.values(schema.getMutationType()!.getFields());
  const leading = mutations.filter(({ type }) => typesBelow(getNamedType(type)).has('Project'));
  const forKeys = leading.filter(({ name }) => !ROOT_FIELDS.Mutation[name]!.isForPeople);
  expect(forKeys.map(({ name }) => [name, ROOT_FIELDS.Mutation[name]!.anyOf])).toEqual([['updateProject', ['WRITE']]]);
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
      if (canKeyRun(scopes, requiredBy(operation, {}))) continue;
      const response = await ask(keys.get(scopes.join())!, real(operation, home));
      expect(isRefused(response), `${operation.name} with ${scopes}: ${response.body}`).toBe(true);
    }
  }
  expect(await tenants.snapshot()).toEqual(before);
});

describe('values that require a further permission', () => {
  const WALLET = '0x1F98431c8aD98523631AE4a59f267346ea31F984';
  /** For each mutation: the path of the resource, and a new value for each field. */
  const NEW_VALUES: Readonly<
    Record<keyof typeof VALUE_PERMISSIONS, { path: (ids: Home['ids']) => string; values: Record<string, unknown> }>
  > = {
    updateProject: {
      path: () => '',
      values: {
        walletAddress: WALLET,
        networks: ['eip155:84532'],
        gatewayHost: 'moved.example.org',
        slug: 'moved-shop',
        upstreamHeaders: [{ name: 'X-Api-Key', value: 'sk_12345678', urlPrefix: 'https://api.example.com/' }],
      },
    },
    updateEndpoint: {
      path: ({ Endpoint }) => `/endpoints/${Endpoint}`,
      values: {
        upstreamUrl: 'https://attacker.example.com/',
        upstreamHeaders: [{ name: 'X-Api-Key', value: 'sk_12345678' }],
      },
    },
    updateWebhook: {
      path: ({ Webhook }) => `/webhooks/${Webhook}`,
      values: {
        url: 'https://attacker.example.com/',
        headers: [{ name: 'X-Api-Key', value: 'sk_12345678' }],
        authentication: { type: 'BEARER', token: 'sk_12345678' },
        clientCertificate: null,
        certificateAuthority: null,
      },
    },
    updateConnector: {
      path: ({ Connector }) => `/connectors/${Connector}`,
      values: { config: { from: 'attacker@example.com' } },
    },
  };

  test.each(Object.keys(NEW_VALUES) as (keyof typeof NEW_VALUES)[])('%s', async (mutation) => {
    const { path, values } = NEW_VALUES[mutation];
    const permissions: Readonly<Record<string, string>> = VALUE_PERMISSIONS[mutation];
    expect(Object.keys(values)).toEqual(Object.keys(permissions));
    const callers = [
      ...[['WRITE'] as const, SCOPES.filter((scope) => scope !== 'CREDENTIALS'), SCOPES].map(async (scopes) => ({
        who: scopes.join(),
        held: scopes as readonly string[],
        caller: await keyOf(team, scopes),
      })),
      ...ROLES.map(async (role) => ({
        who: role,
        held: ROLE_PERMISSIONS[role] as readonly string[],
        caller: members[role],
      })),
    ];
    const all = await Promise.all(callers);
    for (const [field, value] of Object.entries(values)) {
      const isAllowed = ({ held }: (typeof all)[number]) =>
        held.includes('WRITE') && held.includes(permissions[field]!);
      const change = async ({ who, caller }: (typeof all)[number]) => {
        const url = `/api/projects/${team.ids.Project}${path(team.ids)}`;
        const { status, body } = await caller.rest('PATCH', url, { [field]: value });
        return { status, text: `${field} by ${who}: ${JSON.stringify(body)}` };
      };
      // The ones that aren't allowed go first, because a value that doesn't change needs no permission.
      const before = await tenants.snapshot();
      for (const one of all.filter((candidate) => !isAllowed(candidate))) {
        const { status, text } = await change(one);
        expect(status, text).toBe(403);
      }
      expect(await tenants.snapshot()).toEqual(before);
      for (const one of all.filter(isAllowed)) {
        const { status, text } = await change(one);
        expect(status, text).not.toBe(403);
      }
    }
  });
});

/** Changes for which the operation's usual body also needs `CREDENTIALS`. */
const WITH_CREDENTIALS = /(PATCH .*:(webhookId|connectorId)|update(Webhook|Connector))$/;

describe('a key with only the permission that a change requires can make the change and read its result', () => {
  const rank = (name: string) => (/delete/i.test(name) ? 1 : 0);
  const changes = OPERATIONS.filter(
    (operation) =>
      operation.isWrite && !isForOperators(operation) && !operation.requires().root.some((one) => one.isForPeople),
  ).toSorted((one, other) => rank(one.name) - rank(other.name));
  const isRest = ({ name }: Operation) => /^[A-Z]+ \//.test(name);
  test.each([
    ['REST', changes.filter(isRest)],
    ['GraphQL', changes.filter((operation) => !isRest(operation))],
  ])('%s', async (_api, operations) => {
    const own = await tenants.furnish(`matrix${_api.toLowerCase()}`);
    for (const operation of operations) {
      const scopes = [
        ...operation.requires().root.flatMap(({ anyOf }) => anyOf.slice(0, 1) as Scope[]),
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
