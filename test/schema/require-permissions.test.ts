import { buildSchema, execute, isObjectType, parse } from 'graphql';
import { describe, expect, test, vi } from 'vitest';
import type { Role, Scope } from '../../src/auth/permissions.ts';
import type { Viewer } from '../../src/auth/viewer.ts';
import { notFound } from '../../src/errors.ts';
import { schema } from '../../src/graphql/schema.ts';
import { newId } from '../../src/ids.ts';
import type { GraphQLContext } from '../../src/schema/context.ts';
import { ROOT_FIELDS } from '../../src/schema/field-permissions.ts';
import { requirePermissions } from '../../src/schema/require-permissions.ts';

const projectId = newId('Project');
const account = { userId: newId('User'), tier: 'PRO', requestsPerMinute: null } as const;
const keyWith = (...scopes: Scope[]): Viewer => ({
  ...account,
  kind: 'apiKey',
  apiKeyId: newId('ApiKey'),
  projectId,
  scopes,
  expiresAt: null,
});
const memberWith = (role: Role): Viewer => ({
  ...account,
  kind: 'user',
  expiresAt: new Date(),
  memberships: { [projectId]: role },
});

/** The root types with all their fields, and a small project. */
function smallSchema(change = (text: string) => text) {
  const fieldsOf = (type: keyof typeof ROOT_FIELDS) =>
    Object.keys(ROOT_FIELDS[type]).map((name) =>
      name === 'project'
        ? 'project(id: ID): Project'
        : name === 'node'
          ? 'node(id: ID): Int'
          : name === 'nodes'
            ? 'nodes(ids: [ID]): Int'
            : `${name}(id: ID): ResultPayload`,
    );
  const text = `
    interface Node { id: ID }
    type Payment implements Node { id: ID }
    type PaymentConnection { nodes: [Payment] }
    type Webhook implements Node { id: ID }
    type Revenue { totalUsd: Int }
    type Project implements Node {
      id: ID, name: String, payments: PaymentConnection, webhook: Webhook, revenue: Revenue, unreadNoticeCount: Int
    }
    type ResultPayload { project: Project, ok: Int }
    ${(['Query', 'Mutation', 'Subscription'] as const).map((type) => `type ${type} { ${fieldsOf(type).join(' ')} }`).join('\n')}`;
  return buildSchema(change(text));
}

const PROJECT = {
  id: projectId,
  name: 'Shop',
  payments: { nodes: [] },
  webhook: {},
  revenue: {},
  unreadNoticeCount: 1,
};

async function run(viewer: Viewer, document: string, resolver = vi.fn((): unknown => ({ ok: 1, project: PROJECT }))) {
  const guarded = smallSchema();
  for (const type of [guarded.getQueryType()!, guarded.getMutationType()!]) {
    for (const field of Object.values(type.getFields())) field.resolve = resolver;
  }
  guarded.getQueryType()!.getFields().project!.resolve = () => PROJECT;
  requirePermissions(guarded);
  const contextValue = { viewer } as GraphQLContext;
  const { data, errors } = await execute({ schema: guarded, document: parse(document), contextValue });
  return {
    data: JSON.parse(JSON.stringify(data ?? null)),
    codes: errors?.map(({ originalError }) => originalError),
    resolver,
  };
}

describe('the schema', () => {
  test('is rejected if a field of a root type has no requirement, or a requirement has no field', () => {
    requirePermissions(smallSchema());
    expect(() => requirePermissions(smallSchema((text) => text.replace('createWebhook', 'addWebhook')))).toThrow(
      'Mutation.addWebhook must be a field and have a requirement in field-permissions.ts.',
    );
    expect(() => requirePermissions(smallSchema((text) => text.replace('viewer(id: ID): ResultPayload', '')))).toThrow(
      'Query.viewer must be a field',
    );
  });

  test('has a requirement for every field of the root types', () => {
    const names = (type: string) => {
      const found = schema.getType(type);
      return isObjectType(found) ? Object.keys(found.getFields()).sort() : [];
    };
    for (const [type, fields] of Object.entries(ROOT_FIELDS)) expect(names(type)).toEqual(Object.keys(fields).sort());
  });
});

describe('an API key', () => {
  test('does not run a mutation without the required scope', async () => {
    const { data, codes, resolver } = await run(keyWith('READ'), 'mutation { createWebhook { ok } }');
    expect(data).toEqual({ createWebhook: null });
    expect(codes).toMatchObject([{ code: 'FORBIDDEN', message: expect.stringContaining('scope WRITE') }]);
    expect(resolver).not.toHaveBeenCalled();
  });

  test('gets only what it changed in the project if its only scope is WRITE', async () => {
    const key = keyWith('WRITE');
    const changed = await run(key, 'mutation { updateProject { project { id name } } }');
    expect(changed).toMatchObject({ data: { updateProject: { project: { id: projectId, name: 'Shop' } } } });
    for (const field of ['payments { nodes { id } }', 'webhook { id }', 'revenue { totalUsd }', 'unreadNoticeCount']) {
      const { codes } = await run(key, `mutation { updateProject { project { ${field} } } }`);
      expect(codes, field).toMatchObject([{ code: 'FORBIDDEN' }]);
    }
  });

  test("can read webhooks, but not payments, revenue, or the project's own fields, if its only scope is DELIVERIES", async () => {
    const key = keyWith('DELIVERIES');
    const { data, codes } = await run(key, '{ project { id webhook { id } } }');
    expect({ data, codes }).toEqual({ data: { project: { id: projectId, webhook: { id: null } } }, codes: undefined });
    for (const field of ['name', 'payments { nodes { id } }', 'revenue { totalUsd }', 'unreadNoticeCount']) {
      const refused = await run(key, `{ project { ${field} } }`);
      expect(refused.codes, field).toMatchObject([{ code: 'FORBIDDEN' }]);
    }
  });

  test("can read payments and revenue, but not webhooks or the project's own fields, if its only scope is PAYMENTS", async () => {
    const key = keyWith('PAYMENTS');
    const { data, codes } = await run(key, '{ project { id payments { nodes { id } } revenue { totalUsd } } }');
    expect({ data, codes }).toEqual({
      data: { project: { id: projectId, payments: { nodes: [] }, revenue: { totalUsd: null } } },
      codes: undefined,
    });
    for (const field of ['name', 'webhook { id }', 'unreadNoticeCount']) {
      const refused = await run(key, `{ project { ${field} } }`);
      expect(refused.codes, field).toMatchObject([{ code: 'FORBIDDEN' }]);
    }
  });

  test('reads objects of several types only if it can read each of them', async () => {
    const ids = (...types: ('Event' | 'Payment')[]) => types.map((type) => `"${newId(type)}"`).join();
    const nodes = (key: Viewer, list: string) =>
      run(
        key,
        `{ nodes(ids: [${list}]) }`,
        vi.fn(() => 1),
      );
    const both = ids('Event', 'Payment');
    expect((await nodes(keyWith('PAYMENTS', 'DELIVERIES'), both)).data).toEqual({ nodes: 1 });
    expect((await nodes(keyWith('READ'), both)).data).toEqual({ nodes: 1 });
    expect((await nodes(keyWith('PAYMENTS'), both)).codes).toMatchObject([{ code: 'FORBIDDEN' }]);
    expect((await nodes(keyWith('DELIVERIES'), both)).codes).toMatchObject([{ code: 'FORBIDDEN' }]);
  });

  test('reads an object by its ID only if it can read objects of that type', async () => {
    const key = keyWith('DELIVERIES');
    const node = (id: string) =>
      run(
        key,
        `{ node(id: "${id}") }`,
        vi.fn(() => 1),
      );
    expect((await node(newId('Event'))).data).toEqual({ node: 1 });
    expect((await node(newId('Payment'))).codes).toMatchObject([{ code: 'FORBIDDEN' }]);
  });
});

describe('a member', () => {
  test('runs a field without access to the projects where their role does not allow it', async () => {
    const { resolver } = await run(memberWith('VIEWER'), 'mutation { createWebhook { ok } }');
    const [, , { viewer }] = resolver.mock.calls[0] as unknown as [unknown, unknown, GraphQLContext];
    expect(viewer).toMatchObject({ memberships: {} });
  });

  test('gets an error with the required role if that is why something was not found', async () => {
    const refuse = vi.fn(() => {
      throw notFound();
    });
    const remove = (role: Role, id: string) =>
      run(memberWith(role), `mutation { deleteProject(id: "${id}") { ok } }`, refuse);
    expect((await remove('ADMIN', projectId)).codes).toMatchObject([
      { code: 'FORBIDDEN', message: expect.stringContaining('Your role in this project is ADMIN.') },
    ]);
    expect((await remove('ADMIN', newId('Project'))).codes).toMatchObject([{ code: 'NOT_FOUND' }]);
    expect((await remove('OWNER', projectId)).codes).toMatchObject([{ code: 'NOT_FOUND' }]);
  });
});
