import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { checkJson } from '../../src/console/api/json-check.ts';
import type { JsonSchema, Operation } from '../../src/console/api/openapi.ts';
import { innerObject } from '../../src/console/api/openapi.ts';
import { REFERENCE } from './openapi-requests.ts';

const { operations, schemas } = REFERENCE;
const ajv = new Ajv2020({ strict: false, validateFormats: false });
ajv.addSchema({ $id: 'openapi', components: { schemas } });

const bodyOf = ({ requestBody }: Operation) => requestBody!.content['application/json'];
const WITH_BODY = operations.filter(({ requestBody }) => requestBody);

/** Returns a function that checks a value with Ajv. References are relative to the document. */
function ajvFor(schema: JsonSchema): (value: unknown) => boolean {
  return ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"openapi#/')) as object);
}

const OTHERS = [null, 'text', -1, 0.5, 1e9, true, {}, [], Array(101).fill('text')];

/** Returns the value and copies of it in which one part has been replaced, removed, or added. */
function variantsOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return [value, ...OTHERS, ...value.flatMap((item) => variantsOf(item).map((one) => [one]))];
  if (typeof value !== 'object' || value === null) return [value, ...OTHERS];
  const fields = Object.entries(value);
  return [
    ...[value, { ...value, unknownField: 1 }, ...OTHERS],
    ...fields.map(([name]) => Object.fromEntries(fields.filter(([other]) => other !== name))),
    ...fields.flatMap(([name, field]) => variantsOf(field).map((changed) => ({ ...value, [name]: changed }))),
  ];
}

/** Adds the keywords of a schema and of all schemas that it contains or references. */
function collectKeywords(schema: JsonSchema | boolean, found: Set<string>, seen = new Set<string>()): void {
  if (typeof schema === 'boolean') return;
  for (const keyword of Object.keys(schema)) found.add(keyword);
  const { $ref = '', properties = {}, items = true, anyOf = [], oneOf = [], additionalProperties = true } = schema;
  const name = $ref.slice($ref.lastIndexOf('/') + 1);
  const referred = name && !seen.has(name) ? [schemas[name]!] : [];
  seen.add(name);
  for (const inner of [...referred, ...Object.values(properties), items, ...anyOf, ...oneOf, additionalProperties]) {
    collectKeywords(inner, found, seen);
  }
}

describe('the check of request bodies', () => {
  test.each(WITH_BODY)('agrees with Ajv about the example of $operationId and variants of it', (operation) => {
    const { schema, example } = bodyOf(operation);
    expect(checkJson(schema, example, schemas)).toEqual([]);
    const isValid = ajvFor(schema);
    const names = Object.keys(innerObject(schema, schemas)?.properties ?? {});
    const withOthers = names.flatMap((name) => OTHERS.map((other) => ({ ...example, [name]: other })));
    const disputed = [...variantsOf(example), ...withOthers].filter(
      (variant) => (checkJson(schema, variant, schemas).length === 0) !== isValid(variant),
    );
    expect(disputed).toEqual([]);
  });

  test('supports every keyword in the schemas of request bodies', () => {
    const checked = [
      ...['$ref', 'type', 'enum', 'properties', 'required', 'additionalProperties', 'items', 'anyOf', 'oneOf'],
      ...['minLength', 'maxLength', 'pattern', 'minItems', 'maxItems', 'minProperties', 'minimum', 'maximum'],
    ];
    const others = ['description', 'format', 'default', 'discriminator', 'deprecated', 'x-sunset'];
    const found = new Set<string>();
    for (const operation of WITH_BODY) collectKeywords(bodyOf(operation).schema, found);
    expect([...found].filter((keyword) => ![...checked, ...others].includes(keyword))).toEqual([]);
    expect(checked.filter((keyword) => !found.has(keyword))).toEqual([]);
  });

  test('says where each fault is and what is expected', () => {
    const { schema } = bodyOf(operations.find(({ operationId }) => operationId === 'createWebhook')!);
    const body = { eventTypes: ['payment.nothing'], timeoutSeconds: '5', surprise: 1 };
    expect(checkJson(schema, body, schemas)).toEqual([
      { pointer: '', message: '“url” is required.' },
      { pointer: '/eventTypes/0', message: expect.stringMatching(/^Must be "\*", .+ or "revenue.daily_summary".$/) },
      { pointer: '/timeoutSeconds', message: 'Must be an integer or null.' },
      { pointer: '/surprise', message: 'There is no field “surprise”.' },
    ]);
  });

  test('says which limit a value exceeds', () => {
    const { schema } = bodyOf(operations.find(({ operationId }) => operationId === 'createWebhook')!);
    const body = { name: 'x'.repeat(61), url: 'books.example', eventTypes: [], timeoutSeconds: 31 };
    expect(checkJson(schema, body, schemas)).toEqual([
      { pointer: '/name', message: 'Must be at most 60 characters.' },
      { pointer: '/url', message: expect.stringMatching(/^Must match /) },
      { pointer: '/eventTypes', message: 'Must be at least 1 entry.' },
      { pointer: '/timeoutSeconds', message: 'Must be at most 30.' },
    ]);
  });

  test('checks a config by its connector type', () => {
    const { schema } = bodyOf(operations.find(({ operationId }) => operationId === 'createConnector')!);
    const faultsOf = (body: object) => checkJson(schema, { eventTypes: ['*'], ...body }, schemas);
    expect(faultsOf({ type: 'telegram', config: { botToken: 5 } })).toEqual([
      { pointer: '/config', message: '“chatId” is required.' },
      { pointer: '/config/botToken', message: 'Must be a string.' },
    ]);
    expect(faultsOf({ config: {} })).toEqual([{ pointer: '', message: '“type” is required.' }]);
    const [unknown] = faultsOf({ type: 'fax', config: {} });
    expect(unknown).toEqual({
      pointer: '/type',
      message: expect.stringMatching(/^Must be "amplitude", .+ or "zapier".$/),
    });
  });
});
