import { AppError, ERRORS, type ErrorCode } from '../errors.ts';
import { type Problem, toProblem } from '../http/problem.ts';
import { header, type Json } from './openapi-schemas.ts';
import type { RestRoute } from './routes/route.ts';

/** Error statuses, their names, and the routes that can return them. */
const PROBLEMS: readonly { status: number; name: string; when(route: RestRoute): boolean }[] = [
  { status: 400, name: 'BadRequest', when: () => true },
  { status: 401, name: 'Unauthorized', when: () => true },
  { status: 403, name: 'Forbidden', when: () => true },
  { status: 404, name: 'NotFound', when: ({ path }) => path.includes(':') },
  { status: 409, name: 'Conflict', when: ({ method }) => method !== 'GET' },
  { status: 413, name: 'ContentTooLarge', when: ({ method }) => method !== 'GET' },
  { status: 415, name: 'UnsupportedMediaType', when: ({ method }) => method !== 'GET' },
  { status: 422, name: 'UnprocessableContent', when: () => true },
  { status: 429, name: 'TooManyRequests', when: () => true },
  { status: 500, name: 'InternalServerError', when: () => true },
  { status: 503, name: 'ServiceUnavailable', when: () => true },
];

/** The error responses of a route, by status. */
export function problemsOf(route: RestRoute): Json {
  return Object.fromEntries(
    PROBLEMS.filter(({ when }) => when(route)).map(({ status, name }) => [
      String(status),
      { $ref: `#/components/responses/${name}` },
    ]),
  );
}

const PROBLEM_HEADERS: Record<number, Json> = {
  401: { 'WWW-Authenticate': header('Which credentials are accepted (RFC 6750).', { required: true }) },
  429: { 'Retry-After': header('Seconds to wait before retrying.', { required: true }) },
};

/** Codes that only paid routes and `/graphql` return. */
const OF_OTHER_DOORS = /^(PAYMENT|UPSTREAM|FACILITATOR|GRAPHQL)_/;

/** The response for an error status, with an example for every code that a route can return with that status. */
function problem(status: number): Json {
  const codes = (Object.keys(ERRORS) as ErrorCode[]).filter(
    (code) => ERRORS[code].status === status && !OF_OTHER_DOORS.test(code),
  );
  return {
    description: codes.map((code) => `\`${code}\`: ${ERRORS[code].message}`).join('\n\n'),
    ...(PROBLEM_HEADERS[status] && { headers: PROBLEM_HEADERS[status] }),
    content: {
      'application/problem+json': {
        schema: { $ref: '#/components/schemas/Problem' },
        examples: Object.fromEntries(codes.map((code) => [code, { value: exampleOf(code) }])),
      },
    },
  };
}

function exampleOf(code: ErrorCode): Problem {
  const fields = code === 'VALIDATION_FAILED' ? [{ pointer: '/name', message: 'Required.' }] : [];
  return toProblem(new AppError(code, { fields }), {
    instance: '/api/projects',
    requestId: 'req_01jc9x2v5qe3w8k4m6n7p9r0st',
    publicUrl: 'https://tollgate.example',
  });
}

/** The error responses, by name. */
export const PROBLEM_RESPONSES: Json = Object.fromEntries(PROBLEMS.map(({ status, name }) => [name, problem(status)]));

/** An error response (RFC 9457). */
export const PROBLEM: Json = {
  type: 'object',
  description: 'An error (RFC 9457).',
  required: ['type', 'title', 'status', 'detail', 'instance', 'code', 'requestId', 'errors'],
  properties: {
    type: {
      type: 'string',
      format: 'uri-reference',
      description:
        'URL of the documentation page about the error. If the service has no `PUBLIC_URL`, it is relative to the URL of the request. To tell errors apart, compare `code`.',
    },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    instance: { type: 'string' },
    code: { type: 'string', enum: Object.keys(ERRORS) },
    requestId: { type: 'string' },
    errors: {
      type: 'array',
      items: { $ref: '#/components/schemas/FieldError' },
    },
  },
};

export const FIELD_ERROR: Json = {
  type: 'object',
  description: 'What is wrong with a field of the request.',
  required: ['pointer', 'message'],
  properties: {
    pointer: { type: 'string', description: 'JSON pointer (RFC 6901).' },
    message: { type: 'string' },
  },
};
