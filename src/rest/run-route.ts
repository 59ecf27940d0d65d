import type { GraphQLError, GraphQLSchema } from 'graphql';
import { AppError, type FieldError, notFound, toPointer } from '../errors.ts';
import type { StoredResponse } from '../features/idempotency/store.ts';
import { appErrorOf } from '../graphql/errors.ts';
import type { GraphQLServer } from '../graphql/yoga.ts';
import type { GraphQLContext } from '../schema/context.ts';
import { typeAt } from './document-types.ts';
import { type Query, queryReader, type ReadQuery } from './read-query.ts';
import { type Convert, resultConverter } from './result-converter.ts';
import { mayOmitBody, type RestRoute } from './routes/route.ts';
import { toVariable } from './values.ts';

export type RouteRequest = {
  params: Readonly<Record<string, string>>;
  query: Query;
  /** The parsed JSON body, or undefined if there was none. */
  body: unknown;
  /** The request's path and query, for links. */
  url: string;
};

/** A route with everything that is needed to run it. */
export type PreparedRoute = { schema: GraphQLSchema; route: RestRoute; convert: Convert; readQuery: ReadQuery };

/** Prepares a route. This is done once, not for every request. */
export function prepareRoute(schema: GraphQLSchema, route: RestRoute): PreparedRoute {
  return { schema, route, convert: resultConverter(schema, route.document), readQuery: queryReader(schema, route) };
}

/**
 * Runs a route: the request's parameters and body become the document's variables, and the result becomes the response.
 *
 * @throws AppError for the document's errors, `VALIDATION_FAILED` with pointers, or `NOT_FOUND`.
 */
export async function runRoute(
  server: GraphQLServer,
  { schema, route, convert, readQuery }: PreparedRoute,
  request: RouteRequest,
  context: GraphQLContext,
): Promise<StoredResponse> {
  const asked = readQuery(request.query);
  const variables = route.method === 'GET' ? { ...asked, ...request.params } : writeVariables(schema, route, request);
  const result = await runDocument(server, { route, convert }, variables, context);
  if (route.kind === 'delete') return { status: 204, headers: {}, body: undefined };

  const found = partOf(result, route);
  if (route.kind === 'list') return page(found as Page, request.url);
  if (route.kind === 'all') return { status: 200, headers: {}, body: { data: found, nextCursor: null } };

  const resource = found as Record<string, unknown>;
  const payload = dig(result, route.at.slice(0, 1)) as Record<string, unknown>;
  const body = { ...resource, ...Object.fromEntries((route.once ?? []).map((name) => [name, payload[name]])) };
  if (route.kind !== 'create') return { status: 200, headers: {}, body };
  return { status: 201, headers: { location: `${request.url.split('?')[0]}/${resource.id}` }, body };
}

/** @throws AppError for the document's errors. */
export async function runDocument(
  server: GraphQLServer,
  { route, convert }: Pick<PreparedRoute, 'route' | 'convert'>,
  variables: Record<string, unknown>,
  context: GraphQLContext,
): Promise<Record<string, unknown>> {
  const { data, errors } = await server.run(route.document, variables, context);
  if (errors?.[0]) throw errorOf(errors[0], route);
  return convert(data) as Record<string, unknown>;
}

/**
 * The route's part of the result.
 *
 * @throws AppError `NOT_FOUND`
 */
export function partOf(result: unknown, { at }: Pick<RestRoute, 'at'>): unknown {
  const found = dig(result, at);
  if (found === null || found === undefined) throw notFound();
  return found;
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

function writeVariables(
  schema: GraphQLSchema,
  route: RestRoute,
  { params, body }: RouteRequest,
): Record<string, unknown> {
  const fromPath = Object.fromEntries(
    Object.entries(route.fromPath ?? {}).map(([parameter, field]) => [field, params[parameter]]),
  );
  const given = body ?? (mayOmitBody(route) ? {} : undefined);
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new AppError('VALIDATION_FAILED', { fields: [{ pointer: '', message: 'Must be a JSON object.' }] });
  }
  const errors: FieldError[] = [];
  // The body can't repeat a value from the path, because the two might differ.
  for (const field of Object.keys(fromPath)) {
    if (Object.hasOwn(given, field))
      errors.push({ pointer: `/${field}`, message: 'Omit this field. Its value is in the path.' });
  }
  for (const field of route.graphqlOnly ?? []) {
    if (Object.hasOwn(given, field)) errors.push({ pointer: `/${field}`, message: 'Unknown field.' });
  }
  for (const field of route.requires ?? []) {
    if ((given as Record<string, unknown>)[field] == null) {
      errors.push({ pointer: `/${field}`, message: 'Required.' });
    }
  }
  const hidden = [...Object.keys(fromPath), ...(route.graphqlOnly ?? [])];
  const input = toVariable(typeAt(schema, route.document, ['input']), { ...given, ...fromPath }, errors, [], hidden);
  if (errors.length > 0) throw new AppError('VALIDATION_FAILED', { fields: errors });
  return { input };
}

/**
 * The error that a resolver threw, with the names that this route has for its parameters. The document is our own, and
 * its variables were checked, so an error without such a cause is a bug in this service.
 */
function errorOf(error: GraphQLError, route: RestRoute): AppError {
  const thrown = appErrorOf(error);
  if (!thrown) return new AppError('INTERNAL', { cause: error });
  const { code, fields } = thrown;
  const renamed = fields.map((field) => ({ ...field, pointer: inRest(field.pointer, route) }));
  if (renamed.every(({ pointer }, index) => pointer === fields[index]!.pointer)) return thrown;
  // The message contains the variable's name. The new one contains the parameter's name.
  return new AppError(code, { fields: renamed, cause: thrown });
}

/** Converts a place in the document's variables to the place in the request that set it. */
function inRest(pointer: string, { query = {} }: RestRoute): string {
  const [name] = Object.entries(query).find(([, { to }]) => toPointer(to) === pointer) ?? [];
  return name === undefined ? pointer : toPointer([name]);
}

function dig(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((at, name) => (at as Record<string, unknown> | null | undefined)?.[name], value);
}
