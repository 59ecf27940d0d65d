import { isDeepStrictEqual } from 'node:util';

type Schema = { [keyword: string]: unknown };
type Fields = { properties?: Record<string, Schema>; required?: string[] };

/**
 * Lists the changes between two event schemas that break receiving programs or make recorded events invalid: removed
 * types and fields, fields with a changed type, and fields that have become optional or are new and required.
 */
export function eventChanges(before: Schema, after: Schema): string[] {
  const [old, current] = [before.$defs, after.$defs] as [Record<string, Schema>, Record<string, Schema>];
  return Object.entries(old).flatMap(([type, schema]) => {
    const now = current[type];
    return now ? fieldChanges(type, dataOf(schema), dataOf(now)) : [`${type}: was removed`];
  });
}

const dataOf = ({ properties }: Schema) => (properties as { data: Fields }).data;

function fieldChanges(place: string, was: Fields, is: Fields): string[] {
  const [old, current] = [was.properties ?? {}, is.properties ?? {}];
  const isRequired = ({ required = [] }: Fields, name: string) => required.includes(name);
  return [
    ...Object.entries(old).flatMap(([name, schema]) => {
      const now = current[name];
      if (!now) return [`${place}: ${name} was removed`];
      if (!isDeepStrictEqual(withoutText(schema), withoutText(now))) return [`${place}: ${name} has a different type`];
      return isRequired(was, name) && !isRequired(is, name) ? [`${place}: ${name} can be missing`] : [];
    }),
    ...Object.keys(current)
      .filter((name) => !old[name] && isRequired(is, name))
      .map((name) => `${place}: ${name} is required, but recorded events don't have it`),
  ];
}

/** A schema without descriptions, and with sorted lists of types. */
function withoutText(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutText);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([name, item]) => !(name === 'description' && typeof item === 'string'));
  return Object.fromEntries(entries.map(([name, item]) => [name, withoutText(item)]));
}
