import { z } from 'zod';
import { EVENT_TYPES, type EventType } from '../events/types.ts';
import { MASK } from '../secrets/mask.ts';
import { redactSecret } from '../secrets/redact.ts';
import type { ConnectorDefinition } from './definition.ts';
import { type FieldMeta, fieldMeta } from './fields.ts';

export type ConnectorConfig = Record<string, unknown>;

export type ConnectorField = Required<Pick<FieldMeta, 'title' | 'description'>> & {
  name: string;
  required: boolean;
  secret: boolean;
  decidesAddress: boolean;
  /** `list` accepts an array of strings. */
  kind: 'text' | 'list' | 'choice';
  choices: string[];
  example: string | null;
};

/** Describes a connector type's config fields for a form, in the order of their declaration. */
export function describeFields(definition: ConnectorDefinition): ConnectorField[] {
  if (!(definition.config instanceof z.ZodObject))
    throw new Error(`${definition.type}: config must be an object schema`);
  return Object.entries(definition.config.shape as Record<string, z.ZodType>).map(([name, schema]) => {
    const meta = findMeta(schema);
    if (!meta) throw new Error(`${definition.type}.${name}: fields must be built with fields.ts`);
    return {
      name,
      title: meta.title,
      description: meta.description,
      required: !schema.safeParse(undefined).success,
      secret: meta.secret ?? false,
      decidesAddress: meta.decidesAddress ?? false,
      kind: meta.choices ? 'choice' : schema.safeParse([]).error?.issues[0]?.code === 'invalid_type' ? 'text' : 'list',
      choices: [...(meta.choices ?? [])],
      example: meta.example ?? null,
    };
  });
}

/**
 * The event types that a connector type can send. It sends some of them only if certain other types are, or aren't,
 * selected.
 */
export function supportedEventTypes(definition: ConnectorDefinition): EventType[] {
  const every = new Set(EVENT_TYPES);
  return EVENT_TYPES.filter(
    (eventType) =>
      definition.supportsEvent(eventType, new Set([eventType])) || definition.supportsEvent(eventType, every),
  );
}

/** A vendor's limit as text, such as `20 requests per minute`; undefined if the type has none. */
export function describeLimit({ vendorLimit }: ConnectorDefinition): string | undefined {
  if (!vendorLimit) return undefined;
  const { count, perSeconds } = vendorLimit;
  const time = { 1: 'second', 60: 'minute', 3600: 'hour' }[perSeconds] ?? `${perSeconds} seconds`;
  return `${count.toLocaleString('en-US')} request${count === 1 ? '' : 's'} per ${time}`;
}

/** A type's own retry schedule as text, such as `5 s, 5 min, and 2 h`; undefined if it uses the default one. */
export function describeDelays({ retryDelaysSeconds }: ConnectorDefinition): string | undefined {
  if (!retryDelaysSeconds) return undefined;
  const inWords = (seconds: number) =>
    seconds >= 3600 ? `${seconds / 3600} h` : seconds >= 60 ? `${seconds / 60} min` : `${seconds} s`;
  return new Intl.ListFormat('en-US').format(retryDelaysSeconds.map(inWords));
}

/** The config, with each secret shown as `••••` followed by at most its last four characters. */
export function redactConfig(definition: ConnectorDefinition, config: ConnectorConfig): ConnectorConfig {
  const secrets = new Set(
    describeFields(definition)
      .filter(({ secret }) => secret)
      .map(({ name }) => name),
  );
  return Object.fromEntries(
    Object.entries(config).map(([name, value]) => [name, secrets.has(name) ? redact(String(value)) : value]),
  );
}

/** The last characters of a JSON document are just punctuation. */
const redact = (secret: string) => (secret.trimStart().startsWith('{') ? MASK : redactSecret(secret));

/** The fields that contain URLs this service will call. */
export function urlFields({ config }: ConnectorDefinition): string[] {
  const { shape } = config as unknown as z.ZodObject;
  return Object.keys(shape).filter((name) => findMeta(shape[name]!)?.url);
}

/** The fields that determine which host is called. */
export function addressFields(definition: ConnectorDefinition): ConnectorField[] {
  return describeFields(definition).filter(({ decidesAddress }) => decidesAddress);
}

/** A config's secret values, which must never appear in a response, a log, or the history. */
export function secretsOf(definition: ConnectorDefinition, config: ConnectorConfig): string[] {
  return secretFields(definition, config).map(({ value }) => value);
}

/** A config's secret values, with their field names. */
export function secretFields(definition: ConnectorDefinition, config: ConnectorConfig) {
  return describeFields(definition)
    .filter(({ secret, name }) => secret && typeof config[name] === 'string')
    .map(({ name }) => ({ name, value: config[name] as string }));
}

/** Finds a field's metadata through `.optional()`, unions, and other wrappers. */
function findMeta(schema: z.core.$ZodType): FieldMeta | undefined {
  const own = fieldMeta.get(schema as z.ZodType);
  if (own) return own;
  const def = schema._zod.def as {
    innerType?: z.core.$ZodType;
    in?: z.core.$ZodType;
    options?: z.core.$ZodType[];
    element?: z.core.$ZodType;
  };
  for (const inner of [def.innerType, def.in, ...(def.options ?? []), def.element]) {
    const found = inner && findMeta(inner);
    if (found) return found;
  }
  return undefined;
}
