import { exceededLimits } from './json-limits.ts';
import type { JsonSchema, RestReference } from './openapi.ts';

/** A problem in a JSON value. `pointer` (RFC 6901) locates it; it is empty for the whole value. */
export type JsonFault = { pointer: string; message: string };

type Schemas = RestReference['schemas'];
type Check = (schema: JsonSchema, value: unknown, pointer: string, schemas: Schemas) => JsonFault[];

/**
 * Checks a value against the keywords of JSON Schema that our request bodies use. `format` isn't one of them, because
 * the server checks it more reliably. (A library would compile schemas with `eval`, which the content security policy
 * blocks.)
 */
export function checkJson(schema: JsonSchema, value: unknown, schemas: Schemas, pointer = ''): JsonFault[] {
  const { $ref, ...own } = schema;
  const referred = $ref ? checkJson(schemas[$ref.slice($ref.lastIndexOf('/') + 1)]!, value, schemas, pointer) : [];
  const wrongType = checkType(own, value, pointer, schemas);
  if (wrongType.length > 0) return [...referred, ...wrongType];
  return [...referred, ...CHECKS.flatMap((check) => check(own, value, pointer, schemas))];
}

const checkType: Check = ({ type }, value, pointer) => {
  const types = type === undefined ? [] : [type].flat();
  const actual = typeOf(value);
  const isAllowed = types.some((one) => one === actual || (one === 'number' && actual === 'integer'));
  return types.length === 0 || isAllowed ? [] : [{ pointer, message: `Must be ${listed(types.map(article))}.` }];
};

const checkValues: Check = ({ enum: values }, value, pointer) => {
  if (!values || values.includes(value as string)) return [];
  return [{ pointer, message: `Must be ${listed(values.map((allowed) => JSON.stringify(allowed)))}.` }];
};

const checkFields: Check = ({ properties, required = [], additionalProperties }, value, pointer, schemas) => {
  if (typeOf(value) !== 'object') return [];
  const fields = Object.entries(value as Record<string, unknown>);
  const missing = required.filter((name) => !Object.hasOwn(value as object, name));
  return [
    ...missing.map((name) => ({ pointer, message: `“${name}” is required.` })),
    ...fields.flatMap(([name, field]) => {
      const place = `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
      const own = properties && Object.hasOwn(properties, name) ? properties[name] : undefined;
      if (own) return checkJson(own, field, schemas, place);
      if (additionalProperties === false) return [{ pointer: place, message: `There is no field “${name}”.` }];
      return typeof additionalProperties === 'object' ? checkJson(additionalProperties, field, schemas, place) : [];
    }),
  ];
};

const checkItems: Check = ({ items }, value, pointer, schemas) => {
  if (!items || !Array.isArray(value)) return [];
  return value.flatMap((item, index) => checkJson(items, item, schemas, `${pointer}/${index}`));
};

/** One alternative must match. If none does, the problems of the closest one are the most useful. */
const checkChoices: Check = ({ anyOf, oneOf, discriminator }, value, pointer, schemas) => {
  const choices = anyOf ?? oneOf;
  if (!choices) return [];
  const tried = choices.map((choice) => checkJson(choice, value, schemas, pointer));
  if (tried.some((faults) => faults.length === 0)) return [];
  if (discriminator) {
    const place = `${pointer}/${discriminator.propertyName}`;
    const { propertyName } = discriminator;
    if (typeOf(value) === 'object' && !Object.hasOwn(value as object, propertyName))
      return [{ pointer, message: `“${propertyName}” is required.` }];
    const chosen = tried.find((faults) => faults.every((fault) => fault.pointer !== place));
    if (chosen) return chosen;
    const values = Object.keys(discriminator.mapping).map((allowed) => JSON.stringify(allowed));
    return [{ pointer: place, message: `Must be ${listed(values)}.` }];
  }
  const isInside = (faults: readonly JsonFault[]) => faults.some((fault) => fault.pointer !== pointer);
  return tried.find(isInside) ?? tried.toSorted((one, other) => one.length - other.length)[0]!;
};

const checkLimits: Check = (schema, value, pointer) =>
  exceededLimits(schema, value).map((message) => ({ pointer, message }));

const CHECKS: readonly Check[] = [checkValues, checkLimits, checkFields, checkItems, checkChoices];

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return Number.isInteger(value) ? 'integer' : typeof value;
}

const article = (type: string) => (type === 'null' ? type : `${/^[aio]/.test(type) ? 'an' : 'a'} ${type}`);

function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}
