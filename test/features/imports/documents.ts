import { METHODS } from '../../../src/features/endpoints/methods.ts';

/** The same API in each supported version and format. */

export const PETS_30 = `
openapi: 3.0.3
info:
  title: Pets
  description: Everything about pets.
servers:
  - url: https://{region}.pets.example.com/v1/
    variables:
      region: { default: eu }
paths:
  /pets:
    parameters:
      - $ref: '#/components/parameters/Limit'
    get:
      summary: List pets
      tags: [pets]
      responses:
        '200':
          description: Pets
          content:
            application/json:
              schema:
                type: array
                items: { $ref: '#/components/schemas/Pet' }
              example: [{ name: Rex }]
    post:
      summary: Add a pet
      tags: [pets, admin]
      requestBody:
        content:
          application/json:
            schema: { $ref: '#/components/schemas/Pet' }
      responses:
        '201': { description: Added }
  /pets/{pet-id}:
    get:
      description: Get a pet.
      responses:
        '200': { $ref: '#/components/responses/Pet' }
components:
  parameters:
    Limit:
      name: limit
      in: query
      required: true
      schema: { type: integer, minimum: 0, exclusiveMinimum: true, example: 10 }
  responses:
    Pet:
      description: A pet
      content:
        application/problem+json: {}
        application/json:
          schema: { $ref: '#/components/schemas/Pet' }
  schemas:
    Pet:
      type: object
      required: [name]
      properties:
        name: { type: string, nullable: true, x-order: 1 }
        example: { type: string }
        friend: { $ref: '#/components/schemas/Pet' }
      example: { name: Mia }
`;

export const PETS_31 = JSON.stringify({
  openapi: '3.1.0',
  info: { title: 'Pets', description: 'Everything about pets.' },
  servers: [{ url: 'https://eu.pets.example.com/v1/' }],
  paths: {
    '/pets': { $ref: '#/components/pathItems/Pets' },
    '/pets/{petId}': { get: { description: 'Get a pet.', responses: { default: { description: 'A pet' } } } },
  },
  components: {
    pathItems: {
      Pets: {
        get: {
          summary: 'List pets',
          tags: ['pets'],
          parameters: [{ name: 'limit', in: 'query', schema: { type: ['integer', 'null'], exclusiveMinimum: 0 } }],
          responses: {
            '2XX': { description: 'Pets', content: { 'text/csv; charset=utf-8': { example: 'name\nRex' } } },
          },
        },
      },
    },
  },
});

export const PETS_20 = `
swagger: "2.0"
info: { title: Pets }
host: eu.pets.example.com
basePath: /v1
schemes: [http, https]
produces: [text/plain, application/json]
paths:
  /pets:
    get:
      summary: List pets
      parameters:
        - { name: limit, in: query, type: integer, maximum: 100 }
      responses:
        200:
          description: Pets
          examples: { application/json: [{ name: Rex }] }
    post:
      summary: Add a pet
      parameters:
        - { name: pet, in: body, schema: { $ref: '#/definitions/Pet' } }
      responses:
        201: { description: Added }
  /photos:
    post:
      parameters:
        - { name: caption, in: formData, type: string, required: true }
      responses:
        200: { description: Stored, schema: { type: object, example: { id: 1 } } }
definitions:
  Pet: { type: object, properties: { name: { type: string } } }
`;

/** A small document with these paths. */
export function apiWith(paths: Record<string, unknown>, more: Record<string, unknown> = {}): string {
  return JSON.stringify({
    openapi: '3.1.0',
    info: { title: 'API' },
    servers: [{ url: 'https://api.example.com' }],
    paths,
    ...more,
  });
}

/** A path with one operation. */
export const getting = (summary: string) => ({ get: { summary, responses: {} } });

/** 1,000 paths that share one path item, so that every operation repeats the same parts of the document. */
export function apiThatShares(item: Record<string, unknown>, components: Record<string, unknown> = {}): string {
  const shared = { $ref: '#/components/pathItems/Shared' };
  const paths = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`/p${index}`, shared]));
  return apiWith(paths, { components: { pathItems: { Shared: item }, ...components } });
}

/** A path item with the same operation for every method. */
export function everyMethod(operation: unknown): Record<string, unknown> {
  return Object.fromEntries(METHODS.map((method) => [method.toLowerCase(), operation]));
}

/** About 100 KB that become 370 MB when the body schema and the example are repeated in each of 6,000 operations. */
export const EXPANDING = apiThatShares(
  everyMethod({
    requestBody: { $ref: '#/components/requestBodies/Shared' },
    responses: { 200: { $ref: '#/components/responses/Shared' } },
  }),
  {
    requestBodies: { Shared: { content: { 'application/json': { schema: { description: 'x'.repeat(30_000) } } } } },
    responses: { Shared: { content: { 'application/json': { example: 'x'.repeat(32_000) } } } },
  },
);

/** A large but typical API: 1,000 operations, each with a body schema of ten fields and an example. */
export const LARGE = apiWith(
  Object.fromEntries(
    Array.from({ length: 1_000 }, (_, index) => [
      `/things/${index}`,
      {
        post: {
          summary: `Change thing ${index}`,
          description: 'Changes a thing, and returns it as it is afterwards. '.repeat(10),
          requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } } },
          responses: {
            200: { content: { 'application/json': { example: { id: index, name: 'Thing', tags: ['a', 'b'] } } } },
          },
        },
      },
    ]),
  ),
  {
    components: {
      schemas: {
        Thing: {
          type: 'object',
          properties: Object.fromEntries(
            Array.from({ length: 10 }, (_, index) => [
              `field${index}`,
              { type: 'string', description: `What field ${index} means. `.repeat(10) },
            ]),
          ),
        },
      },
    },
  },
);
