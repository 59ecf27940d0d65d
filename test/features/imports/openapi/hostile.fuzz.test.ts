import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AppError } from '../../../../src/errors.ts';
import { type ApiDocument, LIMITS } from '../../../../src/features/imports/openapi/document.ts';
import { readOpenApi } from '../../../../src/features/imports/openapi/read.ts';
import { apiThatShares, apiWith, EXPANDING, everyMethod, getting } from '../documents.ts';

/** An ordinary API with a thousand operations. */
const ORDINARY = apiWith(
  Object.fromEntries(
    Array.from({ length: 1_000 }, (_, index) => [
      `/orders${index}/{id}`,
      {
        parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
        post: {
          summary: 'Changes an order',
          requestBody: { content: { 'application/json': { schema: { properties: { count: { type: 'integer' } } } } } },
        },
      },
    ]),
  ),
);
/**
 * How many times as much work as reading the ordinary API a document may cause. The worst ones cause about 25 times as
 * much.
 */
const MAX_WORK = 200;

/** The processor time that this thread has used for a task. Unlike a clock, it doesn't depend on what else is running. */
function workOf(task: () => void): number {
  const before = process.threadCpuUsage();
  task();
  const { user, system } = process.threadCpuUsage(before);
  return user + system;
}

const ROUNDS = 5;
const ordinaryWork =
  workOf(() => {
    for (let round = 0; round < ROUNDS; round++) readOpenApi(ORDINARY);
  }) / ROUNDS;

function read(text: string): ApiDocument | string {
  try {
    return readOpenApi(text);
  } catch (error) {
    if (error instanceof AppError && error.code === 'VALIDATION_FAILED') return error.fields[0]!.message;
    throw error;
  }
}

function readBounded(text: string): ApiDocument | string {
  let result: ApiDocument | string = '';
  const work = workOf(() => {
    result = read(text);
  });
  expect(work / ordinaryWork).toBeLessThan(MAX_WORK);
  return result;
}

const posting = (schema: unknown) => ({ post: { requestBody: { content: { 'application/json': { schema } } } } });
const inputOf = (schema: unknown, schemas: unknown = {}) => {
  const { operations } = readOpenApi(apiWith({ '/a': posting(schema) }, { components: { schemas } }));
  return operations[0]!;
};
const nest = (depth: number) => {
  let schema: object = { type: 'string' };
  for (let level = 0; level < depth; level += 1) schema = { properties: { a: schema } };
  return schema;
};

describe('reading a hostile document', () => {
  test('handles a document larger than 5 MB', () => {
    expect(readBounded(`openapi: 3.1.0 # ${'x'.repeat(LIMITS.documentBytes)}`)).toBe('Must be at most 5 MB.');
  });

  test('handles 10,000 paths', () => {
    const paths = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`/p${index}`, getting('P')]));
    const { operations, problems } = readBounded(apiWith(paths)) as ApiDocument;
    expect(operations).toHaveLength(1_000);
    expect(problems).toEqual([
      { pointer: '/paths', message: 'The document has 10000 paths. Only the first 1000 are read.' },
    ]);
  });

  test('handles a thousand problems', () => {
    const paths = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`bad${index}`, {}]));
    const { problems } = readBounded(apiWith(paths)) as ApiDocument;
    expect(problems).toHaveLength(201);
    expect(problems.at(-1)).toEqual({ pointer: '', message: 'There are 800 more problems.' });
  });

  test('handles a chain of references that is too long', () => {
    const links = Array.from({ length: 100 }, (_, index) => [
      `S${index}`,
      { $ref: `#/components/schemas/S${index + 1}` },
    ]);
    const { inputSchema, problems } = inputOf({ $ref: '#/components/schemas/S0' }, Object.fromEntries(links));
    expect(inputSchema).toBeNull();
    expect(problems).toHaveLength(1);
  });

  test('handles schemas that contain each other', () => {
    const schemas = {
      A: { type: 'object', properties: { b: { $ref: '#/components/schemas/B' } } },
      B: { type: 'object', nullable: true, properties: { a: { $ref: '#/components/schemas/A' } } },
    };
    expect(inputOf({ $ref: '#/components/schemas/A' }, schemas).inputSchema).toEqual({
      body: { type: 'object', properties: { b: { type: ['object', 'null'], properties: { a: {} } } } },
    });
  });

  test('handles schemas that grow exponentially when they are written out', () => {
    const levels = Array.from({ length: 12 }, (_, index) => {
      const next = { $ref: `#/components/schemas/S${index + 1}` };
      return [`S${index}`, { anyOf: Array.from({ length: 10 }, () => next) }];
    });
    const schemas = { ...Object.fromEntries(levels), S12: { type: 'string' } };
    const many = Array.from({ length: 1_000 }, (_, index) => [
      `/p${index}`,
      posting({ $ref: '#/components/schemas/S0' }),
    ]);
    const { operations } = readBounded(apiWith(Object.fromEntries(many), { components: { schemas } })) as ApiDocument;
    expect(operations).toHaveLength(1_000);
    expect(operations.every(({ inputSchema }) => inputSchema === null)).toBe(true);
  });

  test('handles schemas that together are too large', () => {
    const properties = Object.fromEntries(Array.from({ length: 400 }, (_, index) => [`f${index}`, { type: 'string' }]));
    const schemas = { S: { type: 'object', properties } };
    const many = Array.from({ length: 1_000 }, (_, index) => [
      `/p${index}`,
      posting({ $ref: '#/components/schemas/S' }),
    ]);
    const { operations } = readBounded(apiWith(Object.fromEntries(many), { components: { schemas } })) as ApiDocument;
    const full = operations.filter(({ inputSchema }) => inputSchema !== null);
    expect(full.length).toBeGreaterThan(30);
    expect(full.length).toBeLessThan(100);
  });

  test.each([
    ['schemas and examples', EXPANDING],
    [
      'texts',
      apiThatShares({
        servers: [{ url: '\u0001'.repeat(2_048) }],
        description: '"'.repeat(1_000),
        ...everyMethod({ summary: '"'.repeat(1_000) }),
      }),
    ],
  ])('handles %s that are too large when they are repeated for each operation', (_what, text) => {
    expect(text.length).toBeLessThan(120_000);
    const result = readBounded(text);
    expect(typeof result === 'string' ? result : `${JSON.stringify(result).length} bytes`).toBe(
      'The document is larger than 16 MB after its references are expanded. Split it into smaller documents.',
    );
  });

  const TOO_MANY_STEPS =
    'The document’s operations have too many parameters, fields, and references. Split it into smaller documents.';
  const many = (count: number, value: (index: number) => unknown, prefix = 'k') =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, value(index)]));
  const json = (media: unknown) => ({ content: { 'application/json': media } });

  test.each<[string, () => Record<string, unknown>, Record<string, unknown>?]>([
    [
      'long chains of references',
      () => ({
        parameters: Array.from({ length: 100 }, () => ({ $ref: '#/components/parameters/P0' })),
        ...everyMethod({}),
      }),
      { parameters: many(19, (index) => ({ $ref: `#/components/parameters/P${index + 1}` }), 'P') },
    ],
    ['a very long reference', () => ({ post: { requestBody: { $ref: `#/components/${'%41'.repeat(1_000_000)}` } } })],
    [
      'many parameters',
      () => ({
        parameters: Array.from({ length: 100 }, (_, index) => ({ in: 'query', name: `p${index}` })),
        ...everyMethod({}),
      }),
    ],
    ['many media types', () => ({ post: { requestBody: { content: many(200_000, () => 0, 'x/') } } })],
    ['many responses', () => ({ get: { responses: many(200_000, () => 0) } })],
    ['many examples', () => ({ get: { responses: { 200: json({ examples: many(200_000, () => 0) }) } } })],
    [
      'a schema of many keywords',
      () => ({ post: { requestBody: json({ schema: { ['x'.repeat(40_000)]: 0, ...many(200_000, () => 0) } }) } }),
    ],
    [
      'servers of many variables',
      () => ({ servers: [{ url: '{}'.repeat(1_000), variables: { '': { default: 'x'.repeat(100_000) } } }], get: {} }),
    ],
  ])('handles %s in all operations', (_what, item, components) => {
    expect(readBounded(apiThatShares(item(), components))).toBe(TOO_MANY_STEPS);
  });

  test('handles a long list of media types for all operations', () => {
    const paths = many(1_000, () => everyMethod({}), '/p');
    const produces = Array.from({ length: 200_000 }, () => 'a/b');
    expect(readBounded(JSON.stringify({ swagger: '2.0', paths, produces }))).toBe(TOO_MANY_STEPS);
  });

  test('handles a parameter in a place with a very long name, which is ignored', () => {
    const parameters = Array.from({ length: 20 }, () => ({ $ref: '#/components/parameters/P' }));
    const P = { name: 'a', in: 'x'.repeat(4_000_000) };
    const { operations } = readBounded(apiThatShares({ parameters, post: {} }, { parameters: { P } })) as ApiDocument;
    expect(operations).toHaveLength(1_000);
    expect(operations[0]!.inputSchema).toBeNull();
  });

  test('handles paths that repeat the name of a parameter, which is numbered', () => {
    const paths = many(1_000, () => getting('P'), `${'/{a}'.repeat(31)}/p`);
    const { operations } = readBounded(apiWith(paths)) as ApiDocument;
    expect(operations).toHaveLength(1_000);
    expect(operations[0]!.path).toBe(`/:a${Array.from({ length: 30 }, (_, index) => `/:a_${index + 2}`).join('')}/p0`);
  });

  test('handles a large title, large servers, and many large problems, which take less than 1 MB', () => {
    const bad = Array.from({ length: 300 }, (_, index) => [`${index}${'\u0001'.repeat(1_000)}{"`, {}]);
    const large = '\u0001"'.repeat(1_024);
    const result = readBounded(
      apiWith(Object.fromEntries(bad), {
        info: { title: large, description: large },
        servers: Array.from({ length: 100 }, () => ({ url: large })),
      }),
    ) as ApiDocument;
    expect(result.problems).toHaveLength(201);
    expect(Buffer.byteLength(JSON.stringify(result))).toBeLessThan(1024 * 1024);
  });

  test.each([17, 1_000, 100_000])('handles a schema that is %i levels deep', (depth) => {
    const opened = '{"properties":{"a":'.repeat(depth);
    const schema = `${opened}{"type":"string"}${'}}'.repeat(depth)}`;
    const text = apiWith({ '/a': posting('SCHEMA') }).replace('"SCHEMA"', schema);
    const { operations } = readBounded(text) as ApiDocument;
    expect(operations[0]!.inputSchema).toBeNull();
  });

  test('handles a schema that is a few levels deep, which is kept', () => {
    expect(inputOf(nest(5)).inputSchema).toEqual({ body: nest(5) });
  });

  test('handles keys that would change a prototype', () => {
    const text = apiWith({ '/a': posting('SCHEMA') }, { components: { schemas: {} } }).replace(
      '"SCHEMA"',
      '{"type":"object","__proto__":{"polluted":1},"properties":{"constructor":{"type":"string"},"__proto__":{"type":"null"}}}',
    );
    const { operations } = readBounded(text) as ApiDocument;
    expect(operations[0]!.inputSchema).toEqual({
      body: { type: 'object', properties: { constructor: { type: 'string' } } },
    });
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
    const yaml = readBounded(
      'openapi: 3.1.0\n__proto__: { paths: { /evil: { get: {} } } }\npaths: { /a: { get: {} } }',
    );
    expect((yaml as ApiDocument).operations.map(({ path }) => path)).toEqual(['/a']);
  });

  test('handles duplicate keys in JSON, the last of which counts', () => {
    const { operations } = readBounded(
      '{"openapi":"3.1.0","paths":{"/a":{"get":{}}},"paths":{"/b":{"get":{}}}}',
    ) as ApiDocument;
    expect(operations.map(({ path }) => path)).toEqual(['/b']);
  });

  test('handles very long strings, which are truncated', () => {
    const long = 'x'.repeat(1_000_000);
    const { title, operations, problems } = readBounded(
      apiWith(
        { '/a': { get: { summary: long, tags: [long] } }, [`/${long}`]: getting('Long') },
        { info: { title: long } },
      ),
    ) as ApiDocument;
    expect(title).toHaveLength(LIMITS.titleLength);
    expect(operations[0]!.description).toHaveLength(LIMITS.descriptionLength);
    expect(operations[0]!.tags[0]).toHaveLength(LIMITS.tagLength);
    expect(JSON.stringify(problems).length).toBeLessThan(1_000);
  });

  test('handles text that the database can’t store, which is cleaned', () => {
    const operation = {
      summary: 'a\0b\ud800c',
      requestBody: { content: { 'application/json': { schema: { const: '\0\ud800' } } } },
    };
    const { operations } = readBounded(apiWith({ '/a': { post: operation } })) as ApiDocument;
    expect(operations[0]).toMatchObject({ description: 'ab\ufffdc', inputSchema: { body: { const: '\ufffd' } } });
  });

  test.each([
    [
      'aliases that grow exponentially',
      `a: &a [x,x,x,x,x,x,x,x,x]\n${[...'bcdefghi'].map((name, index) => `${name}: &${name} [${Array(9).fill(`*${'abcdefgh'[index]}`).join(',')}]`).join('\n')}`,
    ],
    ['a million aliases', `a: &a 1\nb: [${'*a,'.repeat(1_000_000)}]`],
    ['an alias inside its own anchor', 'a: &a\n  b: *a'],
    [
      'merge keys that grow',
      `a: &a {${Array.from({ length: 500 }, (_, index) => `k${index}: 1`).join(',')}}\nb: [${'{<<: *a},'.repeat(500)}]`,
    ],
    ['100,000 open brackets', `a: ${'['.repeat(100_000)}`],
    ['100,000 open mappings', `a: ${'{a: '.repeat(100_000)}`],
    ['100,000 levels of blocks', Array.from({ length: 2_000 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n')],
    ['a million escapes', `a: "${'\\x41'.repeat(1_000_000)}"`],
    ['half a million blank lines', `a: >\n${' x\n\n'.repeat(500_000)}`],
    ['300,000 anchors', `a:\n${Array.from({ length: 300_000 }, (_, index) => `  - &a${index} x`).join('\n')}`],
  ])('handles %s in YAML', (_what, yaml) => {
    const result = readBounded(`openapi: 3.1.0\npaths: { /a: { get: {} } }\n${yaml}\n`);
    if (typeof result === 'string') expect(result).toMatch(/^Not valid YAML: .{1,200}$/);
    else expect(result.operations).toHaveLength(1);
  });

  test('handles YAML aliases as schemas that contain themselves', () => {
    const result = readBounded(
      'openapi: 3.1.0\npaths: { /a: { post: { requestBody: { content: { application/json: { schema: &s { not: *s } } } } } } }',
    ) as ApiDocument;
    expect(result.operations[0]!.inputSchema).toEqual({ body: { not: {} } });
  });
});

/** JSON that resembles an OpenAPI document, with references and odd values anywhere. */
const { paths } = fc.letrec((tie) => ({
  odd: fc.oneof(
    fc.constantFrom(null, true, 0, -1, 1e308, '', 'x', '\0', '\ud800', [], {}),
    fc
      .constantFrom('#', '#/', '#/paths', '#/components/schemas/A', 'other.yaml', '#/paths/~1a', '#/%', '__proto__')
      .map(($ref) => ({ $ref })),
    fc.json().map((text) => JSON.parse(text) as unknown),
  ),
  value: fc.oneof({ maxDepth: 4 }, { arbitrary: tie('odd'), weight: 2 }, { arbitrary: tie('object'), weight: 3 }),
  object: fc.dictionary(
    fc.constantFrom(
      ...['get', 'post', 'parameters', 'schema', 'content', 'application/json', 'requestBody', 'responses', '200'],
      ...[
        'properties',
        'items',
        'example',
        'examples',
        'tags',
        'servers',
        'in',
        'name',
        'required',
        'nullable',
        'type',
      ],
      ...[
        '__proto__',
        'constructor',
        '$ref',
        'exclusiveMinimum',
        'minimum',
        'deprecated',
        'summary',
        'url',
        'variables',
      ],
    ),
    fc.oneof({ maxDepth: 4 }, tie('value'), fc.array(tie('value'), { maxLength: 3 })),
    { maxKeys: 5 },
  ),
  paths: fc.dictionary(
    fc.oneof(
      fc.constantFrom('/a', '/b/{id}', '/b/{x}', '/{p+}', 'x-y', '/'),
      fc.string().map((text) => `/${text}`),
    ),
    tie('value'),
    { maxKeys: 4 },
  ),
}));

test('any document that resembles OpenAPI is read or rejected with a coded error', () => {
  const extra = fc.dictionary(
    fc.constantFrom('components', 'servers', 'info', 'produces', 'host', 'basePath'),
    fc.anything(),
  );
  fc.assert(
    fc.property(paths, extra, fc.constantFrom('openapi', 'swagger'), (given, more, kind) => {
      const version = kind === 'openapi' ? { openapi: '3.0.0' } : { swagger: '2.0' };
      const text = JSON.stringify({ ...version, paths: given, ...more }, (_key, value: unknown) =>
        typeof value === 'bigint' ? Number(value) : value,
      );
      const result = readBounded(text);
      expect(typeof result === 'string' || JSON.stringify(result).length < 1_000_000).toBe(true);
      if (typeof result === 'string') return;
      for (const { path, method } of result.operations) {
        expect(path).toMatch(/^\//);
        expect(method).toMatch(/^[A-Z]+$/);
      }
    }),
    { numRuns: 500 },
  );
});

test('any text is read or rejected with a coded error', () => {
  const piece = fc.constantFrom(
    ...[
      'openapi: 3.1.0\n',
      'paths:\n',
      '  /a:\n',
      '    get: ',
      '{',
      '}',
      '[',
      ']',
      ': ',
      '- ',
      '&a ',
      '*a ',
      '<<: *a',
      '? ',
    ],
    ...['|\n', '>\n', '"', "'", '#', '!!map ', '%YAML 1.2\n', '---\n', '\n', '  ', '\t', '\0', '\ud800', 'é', '\ufeff'],
  );
  const texts = fc.oneof(
    fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join('')),
    fc.string(),
  );
  fc.assert(
    fc.property(texts, (text) => void readBounded(text)),
    { numRuns: 1_000 },
  );
});
