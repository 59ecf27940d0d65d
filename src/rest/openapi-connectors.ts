import {
  type GraphQLInputField,
  type GraphQLInputObjectType,
  getNamedType,
  getNullableType,
  isInputObjectType,
  isNonNullType,
} from 'graphql';
import { connectorTypeOf, rulesOf } from '../schema/input-rules.ts';
import type { Json } from './json.ts';
import { fieldRules, withLimits } from './openapi-limits.ts';
import { addComponent, bareSchema } from './openapi-schemas.ts';

/**
 * The body for a new connector: an alternative for each connector type, with its config.
 *
 * @param body the body with any config.
 * @param input the mutation's input, whose `typedConfig` has the config of each type.
 */
export function newConnectorBody({ description, ...body }: Json, input: GraphQLInputObjectType, schemas: Json): Json {
  const properties = body.properties as Record<string, Json>;
  const variants = configTypes(input).map(({ type, name, config }) => {
    const reference = addComponent(schemas, `${name}ConnectorConfig`, configSchema(config, schemas));
    const variant = {
      ...body,
      description: `Properties of a new connector of the type \`${type}\`.`,
      properties: {
        ...properties,
        type: { type: 'string', enum: [type], description: properties.type!.description },
        config: { ...reference, description: properties.config!.description },
      },
    };
    return [type, addComponent(schemas, `Create${name}ConnectorRequest`, variant)] as const;
  });
  return {
    description,
    oneOf: variants.map(([, variant]) => variant),
    discriminator: {
      propertyName: 'type',
      mapping: Object.fromEntries(variants.map(([type, { $ref }]) => [type, $ref])),
    },
  };
}

/** The body for changes to a connector: the config of any type, with only the fields that change. */
export function changedConnectorBody(body: Json, input: GraphQLInputObjectType, schemas: Json): Json {
  const properties = body.properties as Record<string, Json>;
  const configs = configTypes(input).map(({ name, config }) =>
    addComponent(schemas, `${name}ConnectorConfigChanges`, configSchema(config, schemas, true)),
  );
  return {
    ...body,
    properties: { ...properties, config: { anyOf: configs, description: properties.config!.description } },
  };
}

/** The connector types, with the start of their components' names and their config in GraphQL. */
function configTypes(input: GraphQLInputObjectType) {
  const typed = getNamedType(input.getFields().typedConfig!.type);
  if (!isInputObjectType(typed)) throw new Error('typedConfig is not an object');
  return Object.values(typed.getFields())
    .map(({ type }) => getNamedType(type) as GraphQLInputObjectType)
    .map((config) => ({
      config,
      type: connectorTypeOf(config),
      name: config.name.replace(/ConnectorConfigInput$/, ''),
    }));
}

function configSchema(config: GraphQLInputObjectType, schemas: Json, isChange = false): Json {
  const rules = fieldRules(rulesOf(config));
  const fields = Object.values(config.getFields());
  const required = fields.filter(({ type }) => isNonNullType(type)).map(({ name }) => name);
  return {
    type: 'object',
    description: `${config.description}${isChange ? ' Only the fields that change.' : ''}`,
    additionalProperties: false,
    ...(!isChange && required.length > 0 && { required }),
    properties: Object.fromEntries(
      fields.map((field) => {
        const value = fieldSchema(field, rules[field.name]!, schemas);
        // Null removes an optional field.
        const isRemovable = isChange && !isNonNullType(field.type);
        return [field.name, { ...(isRemovable ? orNull(value) : value), description: field.description }];
      }),
    ),
  };
}

/** The schema of a field. In GraphQL, its type is always text or a list of text. */
function fieldSchema({ type }: GraphQLInputField, rule: Json, schemas: Json): Json {
  if (rule.enum) return { type: 'string', enum: rule.enum };
  const types = ((rule.anyOf ?? []) as Json[]).filter((one) => one.type === 'string' || one.type === 'array');
  // Some lists can be sent as text.
  if (types.length > 1)
    return { anyOf: types.map((one) => withLimits(one.type === 'array' ? LIST : { type: 'string' }, one)) };
  // Some IDs can be sent as numbers.
  const base = Array.isArray(rule.type) ? { type: rule.type } : bareSchema(getNullableType(type), schemas);
  return withLimits(base, rule);
}

const LIST: Json = { type: 'array', items: { type: 'string' } };

function orNull({ anyOf, type, enum: values, ...rest }: Json): Json {
  if (anyOf) return { anyOf: [...(anyOf as Json[]), { type: 'null' }], ...rest };
  return {
    type: [type, 'null'].flat(),
    ...(values !== undefined && { enum: [...(values as unknown[]), null] }),
    ...rest,
  };
}
