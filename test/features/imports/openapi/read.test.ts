import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ApiOperation } from '../../../../src/features/imports/openapi/document.ts';
import { readOpenApi } from '../../../../src/features/imports/openapi/read.ts';
import { apiWith, getting, PETS_20, PETS_30, PETS_31 } from '../documents.ts';

const nameOf = ({ method, path }: ApiOperation) => `${method} ${path}`;

describe('an OpenAPI document', () => {
  test('can have version 3.0, in YAML, with schemas, examples, and media types', () => {
    const { title, description, servers, operations, problems } = readOpenApi(PETS_30);
    expect({ title, description, servers, problems }).toEqual({
      title: 'Pets',
      description: 'Everything about pets.',
      servers: ['https://eu.pets.example.com/v1/'],
      problems: [],
    });
    const query = {
      type: 'object',
      properties: { limit: { type: 'integer', exclusiveMinimum: 0 } },
      required: ['limit'],
    };
    const shared = { pathDescription: null, server: null, problems: [] };
    expect(operations).toEqual([
      {
        method: 'GET',
        path: '/pets',
        description: 'List pets',
        tags: ['pets'],
        ...shared,
        mimeType: 'application/json',
        inputSchema: { query },
        exampleResponse: [{ name: 'Rex' }],
      },
      {
        method: 'POST',
        path: '/pets',
        description: 'Add a pet',
        tags: ['pets', 'admin'],
        ...shared,
        mimeType: null,
        exampleResponse: null,
        inputSchema: {
          query,
          body: {
            type: 'object',
            required: ['name'],
            // A schema that contains itself matches anything.
            properties: { name: { type: ['string', 'null'] }, example: { type: 'string' }, friend: {} },
          },
        },
      },
      {
        method: 'GET',
        path: '/pets/:pet_id',
        description: 'Get a pet.',
        tags: [],
        ...shared,
        mimeType: 'application/json',
        inputSchema: null,
        exampleResponse: { name: 'Mia' },
      },
    ]);
  });

  test('can have version 3.1, in JSON, with its paths in its components', () => {
    const { servers, operations, problems } = readOpenApi(PETS_31);
    expect(problems).toEqual([]);
    expect(servers).toEqual(['https://eu.pets.example.com/v1/']);
    expect(operations.map(nameOf)).toEqual(['GET /pets', 'GET /pets/:petId']);
    expect(operations[0]).toMatchObject({
      mimeType: 'text/csv',
      exampleResponse: 'name\nRex',
      inputSchema: {
        query: { type: 'object', properties: { limit: { type: ['integer', 'null'], exclusiveMinimum: 0 } } },
      },
    });
  });

  test('can be Swagger 2.0, with its server in several fields, and parameters for bodies and forms', () => {
    const { servers, operations, problems } = readOpenApi(PETS_20);
    expect(problems).toEqual([]);
    expect(servers).toEqual(['https://eu.pets.example.com/v1']);
    expect(operations).toMatchObject([
      {
        method: 'GET',
        path: '/pets',
        mimeType: 'application/json',
        exampleResponse: [{ name: 'Rex' }],
        inputSchema: { query: { properties: { limit: { type: 'integer', maximum: 100 } } } },
      },
      { method: 'POST', inputSchema: { body: { type: 'object', properties: { name: { type: 'string' } } } } },
      {
        method: 'POST',
        path: '/photos',
        exampleResponse: { id: 1 },
        inputSchema: { body: { properties: { caption: { type: 'string' } }, required: ['caption'] } },
      },
    ]);
  });

  test('is read without problems if it describes this service', () => {
    const text = readFileSync(resolve(import.meta.dirname, '../../../../docs/openapi.json'), 'utf8');
    const { operations, problems } = readOpenApi(text);
    const methods = ['get', 'post', 'patch', 'delete'];
    const paths = Object.values((JSON.parse(text) as { paths: Record<string, object> }).paths);
    const count = paths.flatMap((item) => Object.keys(item)).filter((name) => methods.includes(name)).length;
    expect(problems).toEqual([]);
    expect(operations.length).toBe(count);
    expect(operations.map(nameOf)).toContain('PATCH /api/projects/:projectId/endpoints/:endpointId');
  });

  test.each([
    ['openapi: 3.0.3'],
    ['openapi: 3.0'],
    ['openapi: 3.1'],
    ['openapi: 3.1.1'],
    ['swagger: 2.0'],
    ['swagger: "2.0"'],
  ])('can have the version “%s”', (version) => {
    expect(readOpenApi(`${version}\npaths:\n  /a:\n    get: {}\n`).operations.map(nameOf)).toEqual(['GET /a']);
  });
});

describe('a document that can’t be read is rejected with the reason', () => {
  test.each([
    ['nothing', ' \n', 'Can’t be empty.'],
    ['a list', '[1]', 'Must be an OpenAPI document in JSON or YAML.'],
    ['plain text', 'hello', 'Must be an OpenAPI document in JSON or YAML.'],
    ['another object', '{"a":1}', 'Must be an OpenAPI document. It has neither an “openapi” nor a “swagger” field.'],
    ['version 1.2', '{"swagger":"1.2"}', 'Must be OpenAPI 3.0 or 3.1, or Swagger 2.0.'],
    ['version 4', '{"openapi":"4.0.0"}', 'Must be OpenAPI 3.0 or 3.1, or Swagger 2.0.'],
    ['a version that isn’t text', '{"openapi":{"a":1}}', 'Must be OpenAPI 3.0 or 3.1, or Swagger 2.0.'],
    ['broken JSON', '{"openapi":"3.1.0",\n}', 'Not valid JSON: see line 2 column 1.'],
    ['broken YAML', 'openapi: "3.1.0\npaths: {}', 'Not valid YAML:'],
    [
      'a duplicate key in YAML',
      'openapi: 3.1.0\npaths: {}\npaths: {}',
      'Not valid YAML: duplicated mapping key (line 3).',
    ],
    ['a key that isn’t text', 'openapi: 3.1.0\n? [a]\n: b', 'Not valid YAML:'],
    ['two documents', 'openapi: 3.1.0\n---\nopenapi: 3.1.0', 'Not valid YAML:'],
    ['a tag', 'openapi: !!js/function "x"', 'Not valid YAML:'],
  ])('%s', (_what, text, message) => {
    let thrown: unknown;
    try {
      readOpenApi(text);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({
      code: 'VALIDATION_FAILED',
      fields: [{ pointer: '/document', message: expect.stringContaining(message) }],
    });
  });
});

describe('what can’t become an endpoint is listed', () => {
  test.each([
    [
      'a parameter within a segment',
      '/files/{name}.json',
      '“{name}.json”: a parameter must be an entire path segment.',
    ],
    ['a slash at the end', '/pets/', 'Must not contain empty segments ("//", or a slash at the end).'],
    ['no slash at the start', 'pets', 'Must start with a slash, for example, "/weather".'],
    ['a query', '/pets?limit=1', 'Must be a path without a query or a fragment.'],
    ['a literal asterisk', '/files/*', 'Contains “*”, which would match every path below it.'],
    ['a literal colon', '/users/:id', 'write this parameter as {id}'],
    ['a dot segment', '/a/../b', 'Must not contain "." or ".." segments.'],
    ['a rest that isn’t last', '/{rest+}/x', '“{rest+}”: only the last segment can match the rest of the path.'],
    [
      'a remote reference',
      { $ref: 'https://example.com/paths.yaml#/a' },
      'is in another document, which Tollgate doesn’t fetch.',
    ],
    ['a reference to a file', { $ref: './paths.yaml' }, 'is in another document, which Tollgate doesn’t fetch.'],
    [
      'a reference to nothing',
      { $ref: '#/components/pathItems/None' },
      '“#/components/pathItems/None” isn’t in the document.',
    ],
    ['a reference to an inherited field', { $ref: '#/paths/__proto__' }, 'isn’t in the document.'],
    ['a reference to itself', { $ref: '#/paths/~1loop' }, 'The references are circular'],
    ['a path without an object', 7, 'Must be an object.'],
  ])('%s', (_what, given, message) => {
    const path = typeof given === 'string' ? given : '/loop';
    const item = typeof given === 'string' ? getting('It') : given;
    const { operations, problems } = readOpenApi(apiWith({ [path]: item, '/good': getting('Good') }));
    expect(operations.map(nameOf)).toEqual(['GET /good']);
    expect(problems).toEqual([
      { pointer: `/paths/${path.replaceAll('/', '~1')}`, message: expect.stringContaining(message) },
    ]);
  });

  test('two paths that match the same requests', () => {
    const { problems } = readOpenApi(apiWith({ '/a/{id}': getting('A'), '/a/{name}': getting('B') }));
    expect(problems).toEqual([{ pointer: '/paths/~1a~1{name}', message: 'Matches the same requests as “/a/{id}”.' }]);
  });

  test('the method TRACE, while the path’s other methods are read', () => {
    const { operations, problems } = readOpenApi(apiWith({ '/a': { trace: {}, get: {} } }));
    expect(operations.map(nameOf)).toEqual(['GET /a']);
    expect(problems).toEqual([{ pointer: '/paths/~1a/trace', message: 'TRACE isn’t supported.' }]);
  });
});

describe('the schemas of the path and the headers', () => {
  const read = (path: string, parameters: object[]) =>
    readOpenApi(apiWith({ [path]: { get: { parameters } } })).operations[0]!;

  test('are read with the names that the endpoint has for them, without the headers that every API has', () => {
    const headers = ['X-Api-Version', 'Accept', 'Authorization'].map((name) => {
      return { name, in: 'header', schema: { type: 'string', enum: ['1'] } };
    });
    const id = { name: 'pet-id', in: 'path', required: true, schema: { type: 'integer' } };
    const { path, inputSchema } = read('/pets/{pet-id}', [id, ...headers]);
    expect(path).toBe('/pets/:pet_id');
    expect(inputSchema).toEqual({
      path: { type: 'object', properties: { pet_id: { type: 'integer' } }, required: ['pet_id'] },
      headers: { type: 'object', properties: { 'X-Api-Version': { type: 'string', enum: ['1'] } } },
    });
  });

  test('are left out if they only say that a parameter is a string', () => {
    expect(read('/a/{id}', [{ name: 'id', in: 'path', schema: { type: 'string' } }]).inputSchema).toBeNull();
  });
});

describe('the problems of an operation', () => {
  test('say that it is deprecated, has its own server, or requires a header', () => {
    const parameters = ['X-Api-Version', 'Authorization'].map((name) => ({ name, in: 'header', required: true }));
    const operation = { deprecated: true, servers: [{ url: 'https://other.example.com' }], parameters };
    const [read] = readOpenApi(apiWith({ '/a': { get: operation } })).operations;
    expect(read!.problems).toEqual([
      'GET: marked as deprecated.',
      'GET: has its own server, which is ignored.',
      'GET: requires “X-Api-Version”. Add these header names to `forwardedHeaders`.',
    ]);
  });

  test('say that its schema refers to something that can’t be found', () => {
    const content = { 'application/json': { schema: { $ref: 'other.json' } } };
    const [read] = readOpenApi(apiWith({ '/a': { post: { requestBody: { content } } } })).operations;
    expect(read).toMatchObject({
      inputSchema: null,
      problems: ['POST: its input schema is too large or can’t be read.'],
    });
  });
});

test('a parameter at the end with a plus sign matches the rest of the path', () => {
  const { operations } = readOpenApi(apiWith({ '/files/{rest+}': getting('Files') }));
  expect(operations.map(nameOf)).toEqual(['GET /files/*']);
});

test('parameter names that endpoints can’t have are changed, and stay unique', () => {
  const { operations } = readOpenApi(apiWith({ '/{a-b}/{a.b}/{1}': getting('Odd') }));
  expect(operations.map(nameOf)).toEqual(['GET /:a_b/:a_b_2/:_1']);
});
