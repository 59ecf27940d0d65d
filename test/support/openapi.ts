import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { ERRORS, type ErrorCode } from '../../src/errors.ts';

/** A response from the REST API with its unparsed body. */
export type WireResponse = { method: string; path: string; status: number; headers: Headers; text: string };

type Json = Record<string, unknown>;
type Response = {
  headers?: Record<string, { required?: boolean }>;
  content?: Record<string, { schema: Json }>;
};
type Operation = {
  requestBody?: { required: boolean; content: Record<string, { schema: Json }> };
  responses: Record<string, Response>;
};
type Document = Json & {
  paths: Record<string, Record<string, Operation>>;
  components: { responses: Record<string, Response> };
};

export type OpenApiChecker = Awaited<ReturnType<typeof loadOpenApi>>;

const OPENAPI_PATH = '/api/openapi.json';
const PROBLEM = 'application/problem+json';
const FORMATS: Record<string, RegExp> = {
  'date-time': /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/,
  uri: /^[a-z][a-z0-9+.-]*:\S+$/,
  'uri-reference': /^(https?:\/\/[^\s/]+)?\/\S+$/,
};

/** Reads the OpenAPI document of a service, and returns a checker for its responses. */
export async function loadOpenApi(url: string) {
  const document = withResponses((await (await fetch(url + OPENAPI_PATH)).json()) as Document);
  const ajv = new Ajv2020({ strict: false, allErrors: true, formats: FORMATS });
  // Responses must not have undocumented fields.
  ajv.addSchema(closeObjects(structuredClone(document)), 'openapi');
  const validators = new Map<string, ValidateFunction>();
  const templates = Object.keys(document.paths)
    .map((template) => ({
      template,
      pattern: new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+').replaceAll('.', '\\.')}$`),
    }))
    // Literal paths come before paths with a parameter in the same place.
    .sort((left, right) => left.template.split('{').length - right.template.split('{').length);

  function validate(pointer: readonly string[], body: unknown, label: string): void {
    const reference = `openapi#/${pointer.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')}`;
    let validator = validators.get(reference);
    if (!validator) {
      validator = ajv.compile({ $ref: reference });
      validators.set(reference, validator);
    }
    if (validator(body)) return;
    throw new Error(`${label}: the body is not as documented: ${ajv.errorsText(validator.errors)}\n${pretty(body)}`);
  }

  return {
    document,

    /** Returns the documented path that a request path matches. */
    templateOf: (path: string) => templates.find(({ pattern }) => pattern.test(path.split('?')[0]!))?.template,

    /**
     * Checks the status, media type, and body of a response.
     *
     * @throws Error that describes the difference from the document.
     */
    check(answer: WireResponse): void {
      const { method, status, headers, text } = answer;
      const path = answer.path.split('?')[0]!;
      const label = `${method} ${path.slice(0, 120)} → ${status}`;
      const mediaType = headers.get('content-type')?.split(';')[0];
      const template = templates.find(({ pattern }) => pattern.test(path))?.template;
      const operation = template && document.paths[template]?.[method.toLowerCase()];

      if (path === OPENAPI_PATH && status === 200) return;
      if (!operation) {
        // Undocumented operations must be rejected.
        const expected = template || path === OPENAPI_PATH ? [405, 400] : [404, 400];
        if (!expected.includes(status)) throw new Error(`${label}: the document has no such operation`);
        checkProblem();
        return;
      }
      const documented = operation.responses[String(status)];
      if (!documented) throw new Error(`${label}: the status is not documented. ${text.slice(0, 300)}`);
      for (const [name, { required }] of Object.entries(documented.headers ?? {})) {
        if (required && !headers.has(name)) throw new Error(`${label}: the header ${name} is missing`);
      }
      if (status >= 400) {
        checkProblem();
        return;
      }
      const documentedTypes = Object.keys(documented.content ?? {});
      if (documentedTypes.length === 0) {
        if (text !== '') throw new Error(`${label}: has a body, but none is documented`);
        return;
      }
      if (!mediaType || !documentedTypes.includes(mediaType)) {
        throw new Error(`${label}: media type ${mediaType}, not ${documentedTypes.join(' or ')}`);
      }
      const content = ['paths', template, method.toLowerCase(), 'responses', String(status), 'content', mediaType];
      validate([...content, 'schema'], mediaType === 'application/json' ? JSON.parse(text) : text, label);
      if (mediaType !== 'application/jsonl') return;
      for (const line of text.split('\n').slice(0, -1))
        validate([...content, 'x-line-schema'], JSON.parse(line), label);

      function checkProblem(): void {
        if (mediaType !== PROBLEM) throw new Error(`${label}: media type ${mediaType}, not ${PROBLEM}. ${text}`);
        const problem = JSON.parse(text) as { status: number; code: ErrorCode; requestId: string; instance: string };
        validate(['components', 'schemas', 'Problem'], problem, label);
        const wrong = [
          problem.status !== status && 'status differs from that of the response',
          ERRORS[problem.code].status !== status && `${problem.code} does not belong to this status`,
          problem.requestId !== headers.get('x-request-id') && 'requestId differs from x-request-id',
          problem.instance !== path && `instance is ${problem.instance}`,
          status === 405 && !headers.get('allow') && 'Allow is missing',
        ].filter(Boolean);
        if (wrong.length > 0) throw new Error(`${label}: ${wrong.join('; ')}\n${pretty(problem)}`);
      }
    },
  };
}

/** Replaces references to responses with the responses themselves. */
export function withResponses<T extends Json>(document: T): T {
  const { responses = {} } = document.components as { responses?: Json };
  const paths = document.paths as Record<string, Record<string, { responses: Record<string, Json> }>>;
  for (const { responses: own } of Object.values(paths).flatMap((item) => Object.values(item))) {
    for (const [status, { $ref }] of Object.entries(own)) {
      if (typeof $ref === 'string') own[status] = responses[$ref.slice($ref.lastIndexOf('/') + 1)] as Json;
    }
  }
  return document;
}

/** Forbids unknown fields in all objects. Checks the parts of an `allOf` together. */
function closeObjects<T>(value: T, isPart = false): T {
  if (Array.isArray(value)) for (const item of value) closeObjects(item, isPart);
  else if (typeof value === 'object' && value !== null) {
    const schema = value as Json;
    for (const [name, item] of Object.entries(schema)) closeObjects(item, name === 'allOf');
    if (!isPart && (schema.allOf || (schema.type === 'object' && schema.properties)))
      schema.unevaluatedProperties = false;
  }
  return value;
}

function pretty(value: unknown): string {
  return JSON.stringify(value, undefined, 2).slice(0, 2000);
}
