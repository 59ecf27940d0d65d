import type { GraphQLError, GraphQLSchema } from 'graphql';
import { AppError, ERRORS, type ErrorCode, type FieldError, notFound } from '../errors.ts';
import type { StoredResponse } from '../features/idempotency/store.ts';
import type { GraphQLServer } from '../graphql/yoga.ts';
import type { GraphQLContext } from '../schema/context.ts';
import { typeAt } from './document-types.ts';
import type { Convert } from './result-converter.ts';
import type { RestRoute } from './routes/route.ts';
import { ofText, toVariable } from './values.ts';

const MAX_PAGE_SIZE = 100;

export type RouteRequest = {
  params: Readonly<Record<string, string>>;
  query: Readonly<Record<string, string | string[] | undefined>>;
  /** The parsed JSON body, or undefined if there was none. */
  body: unknown;
  /** The request's path and query, for links. */
  url: string;
};

/** A route, and how its document's results become responses. */
export type PreparedRoute = { schema: GraphQLSchema; route: RestRoute; convert: Convert };

/**
 * Runs a route: the request's parameters and body become the document's variables, and the result becomes the response.
 *
 * @throws AppError for the document's errors, `VALIDATION_FAILED` with pointers, or `NOT_FOUND`.
 */
export async function runRoute(
  server: GraphQLServer,
  { schema, route, convert }: PreparedRoute,
  request: RouteRequest,
  context: GraphQLContext,
): Promise<StoredResponse> {
  const variables =
    route.method === 'GET' ? readVariables(schema, route, request) : writeVariables(schema, route, request);
  const { data, errors } = await server.run(route.document, variables, context);
  if (errors?.[0]) throw fromGraphQL(errors[0]);
  if (route.kind === 'delete') return { status: 204, headers: {}, body: undefined };

  const result = convert(data) as Record<string, unknown>;
  const found = dig(result, route.at);
  if (found === null || found === undefined) throw notFound();
  if (route.kind === 'list') return page(found as Page, request.url);
  if (route.kind === 'all') return { status: 200, headers: {}, body: { data: found, nextCursor: null } };

  const resource = found as Record<string, unknown>;
  const payload = dig(result, route.at.slice(0, 1)) as Record<string, unknown>;
  const body = { ...resource, ...Object.fromEntries((route.once ?? []).map((name) => [name, payload[name]])) };
  if (route.kind !== 'create') return { status: 200, headers: {}, body };
  return { status: 201, headers: { location: `${request.url.split('?')[0]}/${resource.id}` }, body };
}

type Page = { nodes: unknown[]; pageInfo: { endCursor: string | null; hasNextPage: boolean } };

function page({ nodes, pageInfo }: Page, url: string): StoredResponse {
  const nextCursor = pageInfo.hasNextPage ? pageInfo.endCursor : null;
  if (nextCursor === null) return { status: 200, headers: {}, body: { data: nodes, nextCursor } };
  const next = new URL(url, 'http://relative');
  next.searchParams.set('after', nextCursor);
  const link = `<${next.pathname}${next.search}>; rel="next"`;
  return { status: 200, headers: { link }, body: { data: nodes, nextCursor } };
}

function readVariables(
  schema: GraphQLSchema,
  route: RestRoute,
  { params, query }: RouteRequest,
): Record<string, unknown> {
  const variables: Record<string, unknown> = { ...params };
  const errors: FieldError[] = [];
  const { limit, after } = route.kind === 'list' ? query : {};
  if (limit !== undefined) {
    if (typeof limit !== 'string' || !/^\d{1,3}$/.test(limit) || Number(limit) < 1 || Number(limit) > MAX_PAGE_SIZE) {
      errors.push({ pointer: '/limit', message: `Must be a whole number from 1 to ${MAX_PAGE_SIZE}.` });
    }
    variables.first = Number(limit);
  }
  if (after !== undefined) variables.after = typeof after === 'string' ? after : '';
  for (const [name, { to, list }] of Object.entries(route.query ?? {})) {
    const given = query[name];
    if (given === undefined) continue;
    const type = typeAt(schema, route.document, to);
    const value = list ? [given].flat().flatMap((item) => item.split(',')) : ofText(type, [given].flat().at(-1));
    assign(variables, to, toVariable(type, value, errors, [name]));
  }
  if (errors.length > 0) throw new AppError('VALIDATION_FAILED', { fields: errors });
  return variables;
}

function writeVariables(
  schema: GraphQLSchema,
  route: RestRoute,
  { params, body }: RouteRequest,
): Record<string, unknown> {
  const fromPath = Object.fromEntries(
    Object.entries(route.fromPath ?? {}).map(([parameter, field]) => [field, params[parameter]]),
  );
  const given = body ?? (route.kind === 'action' || route.kind === 'delete' ? {} : undefined);
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new AppError('VALIDATION_FAILED', { fields: [{ pointer: '', message: 'Must be a JSON object.' }] });
  }
  const errors: FieldError[] = [];
  // The body can't repeat a value from the path, because the two might differ.
  for (const field of Object.keys(fromPath)) {
    if (Object.hasOwn(given, field)) errors.push({ pointer: `/${field}`, message: 'Unknown field.' });
  }
  const input = toVariable(typeAt(schema, route.document, ['input']), { ...given, ...fromPath }, errors);
  if (errors.length > 0) throw new AppError('VALIDATION_FAILED', { fields: errors });
  return { input };
}

function fromGraphQL(error: GraphQLError): AppError {
  const { code, errors, retryAfterSeconds } = error.extensions as {
    code?: string;
    errors?: FieldError[];
    retryAfterSeconds?: number;
  };
  // The document is our own, and its variables were checked, so any other error is a bug in this service.
  if (!code || !(code in ERRORS) || code === 'GRAPHQL_INVALID') return new AppError('INTERNAL');
  return new AppError(code as ErrorCode, {
    detail: error.message,
    ...(errors && { fields: errors }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  });
}

function dig(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((at, name) => (at as Record<string, unknown> | null | undefined)?.[name], value);
}

function assign(target: Record<string, unknown>, [name, ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) target[name!] = value;
  else {
    target[name!] ??= {};
    assign(target[name!] as Record<string, unknown>, rest, value);
  }
}
