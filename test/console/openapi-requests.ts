import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  type OpenApiDocument,
  type Operation,
  type Parameter,
  toReference,
  valuesOf,
} from '../../src/console/api/openapi.ts';
import type { SampleRequest } from '../../src/console/pages/rest/samples.ts';

const FILE = resolve(import.meta.dirname, '../../docs/openapi.json');

/** Our own OpenAPI document, as the console reads it. */
export const REFERENCE = toReference(JSON.parse(readFileSync(FILE, 'utf8')) as OpenApiDocument);

/** A request for an operation, with every parameter and the example body. */
export function fullRequest(operation: Operation): SampleRequest {
  const values = Object.fromEntries(operation.parameters.map((parameter) => [parameter.name, valueFor(parameter)]));
  const body = operation.requestBody?.content['application/json'].example;
  return { operation, values, body, origin: 'https://tollgate.example.com' };
}

function valueFor({ name, schema }: Parameter): string {
  const values = valuesOf(schema, REFERENCE.schemas);
  if (schema.type === 'integer') return '5';
  if (schema.type === 'boolean') return 'true';
  return values.slice(0, schema.items ? 2 : 1).join(', ') || `${name}_1`;
}
