import type { ConnectorType } from '../../connectors/definition.ts';
import { type ConnectorConfig, type ConnectorField, describeFields } from '../../connectors/describe.ts';
import { listConnectors } from '../../connectors/types/registry.ts';
import { AppError, invalidField } from '../../errors.ts';
import type { Connector } from '../../generated/prisma/client.ts';

/** A config as users see it, and the connector type, which determines its fields. */
export type TypedConfig = { type: ConnectorType; config: ConnectorConfig };

/**
 * The GraphQL input: an object with a single field, which is named after the connector type and contains its config.
 */
export type TypedConfigInput = Readonly<Record<string, Readonly<Record<string, unknown>> | null | undefined>>;

/** A connector type as the name of a field: `google-sheets` becomes `googleSheets`. */
export function fieldNameOf(type: string): string {
  return type.replaceAll(/-(\w)/g, (_match, letter: string) => letter.toUpperCase());
}

const TYPES_BY_FIELD = new Map(listConnectors().map(({ type }) => [fieldNameOf(type), type]));

const isNeeded = ({ required, secret }: ConnectorField) => required && !secret;

/**
 * The fields that can be missing from some connector type's config; secrets are missing from copies of projects. They
 * are nullable in all types, because GraphQL rejects a document that selects a field in several types of a union if the
 * field's type differs.
 */
export const NULLABLE_FIELDS: ReadonlySet<string> = new Set(
  listConnectors().flatMap((definition) =>
    describeFields(definition)
      .filter((field) => !isNeeded(field))
      .map(({ name }) => name),
  ),
);

/** A connector's config with its type. Null if a non-nullable field is missing. */
export function typedConfigOf(connector: Pick<Connector, 'type' | 'config'>): TypedConfig | null {
  const type = connector.type as ConnectorType;
  const config = connector.config as ConnectorConfig;
  const isComplete = FIELDS.get(type)!.every((name) => NULLABLE_FIELDS.has(name) || config[name] != null);
  return isComplete ? { type, config } : null;
}

const FIELDS = new Map(
  listConnectors().map((definition) => [definition.type, describeFields(definition).map(({ name }) => name)]),
);

type ConfigInput = { config?: unknown; typedConfig?: TypedConfigInput | null | undefined };

/**
 * Creates or changes a connector with the config in `config` or `typedConfig`. Errors in a typed config point into it.
 *
 * @param change gets the config, and its type if it is typed.
 * @throws AppError `VALIDATION_FAILED` if both are given.
 */
export async function withConfig<T>(
  { config, typedConfig }: ConfigInput,
  change: (given: { config?: unknown; typeOfConfig?: ConnectorType }) => Promise<T>,
): Promise<T> {
  if (!typedConfig) return change(config === undefined ? {} : { config });
  if (config != null) throw invalidField('/typedConfig', 'Use either `config` or `typedConfig`, not both.');
  // GraphQL has checked that there is exactly one field.
  const [field, values] = Object.entries(typedConfig)[0]!;
  const typeOfConfig = TYPES_BY_FIELD.get(field)!;
  return change({ config: { ...values }, typeOfConfig }).catch((error) => {
    throw pointingInto(`/typedConfig/${field}`, error);
  });
}

function pointingInto(place: string, error: unknown): unknown {
  if (!(error instanceof AppError) || error.fields.length === 0) return error;
  const fields = error.fields.map(({ pointer, message }) => ({
    pointer: /^\/config(\/|$)/.test(pointer) ? pointer.replace('/config', place) : pointer,
    message,
  }));
  return new AppError(error.code, { fields });
}

/** @throws AppError `VALIDATION_FAILED` if a typed config is for another type. */
export function requireSameType(type: string, typeOfConfig: ConnectorType | undefined): void {
  if (typeOfConfig && typeOfConfig !== type) {
    throw invalidField('/typedConfig', `The connector's type is ${type}. Set \`${fieldNameOf(type)}\`.`);
  }
}

export function withoutNulls(config: ConnectorConfig): ConnectorConfig {
  return Object.fromEntries(Object.entries(config).filter(([, value]) => value !== null));
}
