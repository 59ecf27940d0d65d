import { CONNECTOR_TYPES, type ConnectorDefinition, type ConnectorType } from '../../connectors/definition.ts';
import { type ConnectorField, describeFields } from '../../connectors/describe.ts';
import { splitMailboxes } from '../../connectors/shared/mail.ts';
import { getConnector, listConnectors } from '../../connectors/types/registry.ts';
import { builder } from '../../schema/builder.ts';
import { checkedBy, configOf } from '../../schema/input-rules.ts';
import { fieldNameOf, NULLABLE_FIELDS, type TypedConfig, type TypedConfigInput } from './typed-config.ts';

/** A connector type's name in the schema, for example, `GoogleSheetsConnectorConfig`. */
function typeName(type: ConnectorType): string {
  const name = fieldNameOf(type);
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}ConnectorConfig`;
}

const anyOf = new Intl.ListFormat('en-US', { type: 'disjunction' });
const descriptionOf = ({ description, choices }: ConnectorField) =>
  choices.length > 0 ? `${description} Can be ${anyOf.format(choices.map((choice) => `"${choice}"`))}.` : description;

function outputType(definition: ConnectorDefinition) {
  return builder.objectRef<TypedConfig>(typeName(definition.type)).implement({
    description: `Configuration for ${definition.title} connectors.`,
    fields: (t) =>
      Object.fromEntries(
        describeFields(definition).map((field) => {
          const { name, kind, secret } = field;
          const description = secret ? `${descriptionOf(field)} Masked.` : descriptionOf(field);
          const options = { nullable: NULLABLE_FIELDS.has(name), description };
          const resolve = ({ config }: TypedConfig) => config[name] as never;
          if (kind !== 'list') return [name, t.string({ ...options, resolve })];
          return [name, t.stringList({ ...options, resolve: ({ config }) => listOf(config[name]) as never })];
        }),
      ),
  });
}

/** Lists of addresses can also be stored as text, separated by commas. */
function listOf(value: unknown): unknown {
  return typeof value === 'string' ? splitMailboxes(value) : value;
}

function inputType(definition: ConnectorDefinition) {
  return builder.inputType(`${typeName(definition.type)}Input`, {
    description: `Configuration for ${definition.title} connectors.`,
    extensions: { ...checkedBy(definition.config), ...configOf(definition.type) },
    fields: (t) =>
      Object.fromEntries(
        describeFields(definition).map((field) => {
          const options = { required: field.required, description: descriptionOf(field) };
          return [field.name, field.kind === 'list' ? t.stringList(options) : t.string(options)];
        }),
      ),
  });
}

/** A connector's configuration: a type for each connector type, generated from the definitions. */
export const ConnectorConfig = builder.unionType('ConnectorConfig', {
  description: 'A connector’s configuration. There is a type for each connector type.',
  types: listConnectors().map(outputType),
  resolveType: ({ type }) => typeName(type),
});

/** The configuration of one connector type. */
export const ConnectorConfigInput = builder.inputRef<TypedConfigInput>('ConnectorConfigInput').implement({
  description: 'The configuration of a connector. Set only the field for the connector’s type.',
  isOneOf: true,
  fields: (t) =>
    Object.fromEntries(
      CONNECTOR_TYPES.map((type) => {
        const definition = getConnector(type);
        return [fieldNameOf(type), t.field({ type: inputType(definition), description: definition.title })];
      }),
    ),
});
