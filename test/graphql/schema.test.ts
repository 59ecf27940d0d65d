import { type GraphQLNamedType, isEnumType, isInterfaceType, isNonNullType, isObjectType } from 'graphql';
import { describe, expect, test } from 'vitest';
import { schema } from '../../src/graphql/schema.ts';

const types = Object.values(schema.getTypeMap()).filter(({ name }) => !name.startsWith('__'));
const mutations = Object.values(schema.getMutationType()!.getFields());
const roots = [schema.getQueryType()!, schema.getMutationType()!, schema.getSubscriptionType()!];

type Described = [place: string, description: string | null | undefined];

/** Returns every part of a type that needs a description, with its description. */
function described(type: GraphQLNamedType): Described[] {
  const own: Described = [type.name, type.description];
  const members: { name: string; description?: string | null }[] = isEnumType(type)
    ? [...type.getValues()]
    : 'getFields' in type
      ? Object.values(type.getFields())
      : [];
  const ofMembers = members.map(({ name, description }): Described => [`${type.name}.${name}`, description]);
  const fields = isObjectType(type) || isInterfaceType(type) ? Object.values(type.getFields()) : [];
  const ofArguments = fields.flatMap((field) =>
    field.args.map(({ name, description }): Described => [`${type.name}.${field.name}(${name})`, description]),
  );
  return [own, ...ofMembers, ...ofArguments];
}

describe('the schema', () => {
  test('describes everything', () => {
    // The Relay plugin does not allow a description for this field.
    const exceptions = ['Query.node(id)'];
    const missing = types.flatMap(described).filter(([place, text]) => !text && !exceptions.includes(place));
    expect(missing.map(([place]) => place)).toEqual([]);
  });

  test('has nullable root fields, so that one failing field does not affect others', () => {
    const strict = roots.flatMap((root) =>
      Object.values(root.getFields())
        .filter(({ type }) => isNonNullType(type))
        .map(({ name }) => name),
    );
    expect(strict).toEqual([]);
  });

  test('gives each mutation one input and its own payload', () => {
    expect(mutations.length).toBeGreaterThan(10);
    for (const { name, args, type } of mutations) {
      const Name = name[0]!.toUpperCase() + name.slice(1);
      expect(args.map((arg) => `${arg.name}: ${arg.type}`)).toEqual([`input: ${Name}Input!`]);
      expect(String(type)).toBe(`${Name}Payload`);
    }
  });

  test('has no clientMutationId', () => {
    expect(types.flatMap(described).filter(([place]) => place.endsWith('.clientMutationId'))).toEqual([]);
  });

  test('reads IDs without promises, which would slow down lists', () => {
    const nodes = types.filter(isObjectType).filter((type) => type.getInterfaces().some(({ name }) => name === 'Node'));
    expect(nodes.length).toBeGreaterThan(0);
    expect(nodes.filter((type) => type.getFields().id?.resolve).map(({ name }) => name)).toEqual([]);
  });

  test('spells enum values in uppercase', () => {
    const names = types.filter(isEnumType).flatMap((type) => type.getValues().map(({ name }) => name));
    expect(names.filter((name) => !/^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$/.test(name))).toEqual([]);
  });

  test('has no fields that return secrets, except fields that show a new secret once or a masked secret', () => {
    const fields = types
      .filter(isObjectType)
      .flatMap((type) => Object.keys(type.getFields()).map((field) => `${type.name}.${field}`));
    expect(
      fields
        .filter((field) =>
          /\.(secret|key|hash|secretConfig|secretCredentials|clientSecret|previousSecret|token|password)$/i.test(field),
        )
        .sort(),
    ).toEqual([
      'ConnectorTypeField.secret',
      'CreateApiKeyPayload.key',
      'CreateWebhookPayload.secret',
      // The value is masked.
      'QuickbooksConnectorConfig.clientSecret',
      'RotateWebhookSecretPayload.secret',
      // The value is masked.
      'SalesforceConnectorConfig.clientSecret',
      'WebhookAuthentication.clientSecret',
      'WebhookAuthentication.password',
      'WebhookAuthentication.token',
      'XeroConnectorConfig.clientSecret',
    ]);
  });
});
