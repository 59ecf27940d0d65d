import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { discoveryInput, type InputSchema } from '../../../src/features/endpoints/discovery.ts';

const input = z.strictObject(discoveryInput);

const TYPE = fc.constantFrom('object', 'array', 'string', 'number', 'integer', 'boolean', 'text', 7);
const PART = fc.oneof(
  fc.constantFrom(...['a', '(', '^x$', '#/a', ''], true, false, null, 0, -1, 2.5, 3),
  fc.constantFrom([], {}, ['a'], ['a', 'a'], [1], { a: 1 }, { '(': {} }, [{}], [true], ['object', 'null']),
);
const KEYWORD = fc.constantFrom(
  ...['type', 'title', 'pattern', 'format', 'enum', 'const', 'default', 'examples', 'required', 'properties', 'items'],
  ...['additionalProperties', 'patternProperties', 'propertyNames', 'dependentRequired', 'dependentSchemas', 'allOf'],
  ...['anyOf', 'not', 'if', 'then', 'prefixItems', 'contains', 'minContains', 'uniqueItems', 'minItems', 'maxLength'],
  ...['minimum', 'exclusiveMaximum', 'multipleOf', 'maxProperties', 'unevaluatedProperties', 'readOnly', 'x-other'],
  ...['$ref', '$id', 'id', '$anchor', '$defs', 'definitions', 'contentSchema', '$comment', 'description', '$async'],
);
const { schema: SCHEMA } = fc.letrec<{ schema: object }>((tie) => ({
  schema: fc
    .tuple(
      TYPE,
      fc.dictionary(KEYWORD, fc.oneof({ maxDepth: 3 }, PART, tie('schema'), fc.array(tie('schema'))), { maxKeys: 3 }),
    )
    .map(([type, rest]) => ({ type, ...rest })),
}));

test('every accepted schema is one that validators can compile inside another schema', () => {
  let accepted = 0;
  fc.assert(
    fc.property(SCHEMA, (schema) => {
      const { data } = input.safeParse({ inputSchema: { body: schema } });
      if (!data) return;
      accepted += 1;
      const { body } = data.inputSchema as InputSchema;
      new Ajv2020({ strict: false, logger: false }).compile({ type: 'object', properties: { input: body } });
    }),
    { numRuns: 500 },
  );
  expect(accepted).toBeGreaterThan(50);
});
