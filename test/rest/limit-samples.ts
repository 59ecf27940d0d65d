import { describeFields } from '../../src/connectors/describe.ts';
import { listConnectors } from '../../src/connectors/types/registry.ts';

type Json = { [key: string]: unknown };

/** Makes text of a length, or of the shortest length that looks right. */
type Maker = (length?: number) => string;

const padded =
  (start: string, end = '', filler = 'a'): Maker =>
  (length = start.length + end.length + 1) =>
    start + filler.repeat(Math.max(length - start.length - end.length, 0)) + end;

/** From plain to special, so that the first one that matches a pattern is used. */
const MAKERS: readonly Maker[] = [
  ...[
    padded(''),
    padded('', '', '1'),
    padded('https://a.example/'),
    padded('/'),
    padded('a/'),
    padded('a', '@example.com'),
  ],
  ...[`0x${'a'.repeat(40)}`, `0x${'b'.repeat(64)}`, 'GET', 'G-ABCD', `AC${'a'.repeat(32)}`, 'SG.abc', 're_abc'].map(
    (text): Maker =>
      () =>
        text,
  ),
  ...['1'.repeat(8), 'a'.repeat(32), 'A'.repeat(32), `1:${'a'.repeat(30)}`, '+12025550123', 'abcdef'].map(
    (text): Maker =>
      () =>
        text,
  ),
  () => '01234567-89ab-cdef-0123-456789abcdef',
  () => 'TAX',
];

/** A host name. */
const host: Maker = (length = 9) => Array.from({ length }, (_, index) => (index % 50 === 49 ? '.' : 'a')).join('');

/** Makers for fields whose format no keyword describes. */
const BY_POINTER: Readonly<Record<string, Maker>> = { '/gatewayHost': host };

const EXAMPLES = new Map(
  listConnectors().flatMap((definition) =>
    describeFields(definition).map(({ name, example }) => [
      `createConnector (${definition.type}) /config/${name}`,
      example ?? undefined,
    ]),
  ),
);

/** The example of a connector's config field, named `createConnector (slack) /config/webhookUrl`. */
export const exampleOf = (name: string): string | undefined => EXAMPLES.get(name);

/**
 * A value for a schema, of a length if it is text. Text of a length that isn't allowed looks the same otherwise.
 *
 * @param length undefined for any.
 */
export function sampleOf(
  schema: Json,
  length: number | undefined,
  schemas: Record<string, Json>,
  pointer = '',
): unknown {
  if (typeof schema.$ref === 'string') return sampleOf(schemas[schema.$ref.split('/').at(-1)!]!, length, schemas);
  if (schema.enum) return (schema.enum as unknown[])[0];
  if (schema.properties) {
    const required = (schema.required ?? []) as string[];
    const fields = Object.entries(schema.properties as Record<string, Json>).filter(([name]) =>
      required.includes(name),
    );
    return Object.fromEntries(fields.map(([name, field]) => [name, sampleOf(field, undefined, schemas)]));
  }
  if (schema.format === 'email') return padded('a', '@example.com')(length);
  const pattern = schema.pattern === undefined ? undefined : new RegExp(schema.pattern as string, 'u');
  const wanted = length ?? (schema.minLength as number | undefined);
  const maker = [...(BY_POINTER[pointer] ? [BY_POINTER[pointer]] : []), ...MAKERS].find((make) => {
    const text = make(wanted);
    return (
      (length === undefined ? text.length >= (wanted ?? 0) : text.length === length) &&
      (pattern === undefined || pattern.test(text))
    );
  });
  return (maker ?? padded(''))(wanted);
}
