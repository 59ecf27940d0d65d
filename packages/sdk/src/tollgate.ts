import { createExported } from './exported.ts';
import type { FollowOptions } from './feed.ts';
import { LIVE_FIELDS, OPERATIONS, type Resources } from './generated.ts';
import { createListing, isPage, type Listing } from './listing.ts';
import { followResource, isFiltered, type LiveResource } from './live.ts';
import type { CreateOptions, TollgateOptions } from './options.ts';
import { createTransport, type Query, type Transport } from './transport.ts';

/** A client for Tollgate's API: a property for each resource, with a method for each operation. */
export type Tollgate = Resources;

export const Tollgate = class {
  constructor(options: TollgateOptions) {
    Object.assign(this, createResources(createTransport(options), options.projectId));
  }
} as new (
  options: TollgateOptions,
) => Tollgate;

type Operation = {
  method: string;
  path: string;
  arguments: readonly string[];
  takes: 'body' | 'query' | 'nothing';
  returns: 'list' | 'one' | 'export';
};
type Method = (...given: unknown[]) => unknown;
type AnyListing = Listing<{ data: never[]; nextCursor: string | null }>;

/** Creates the methods from the table of operations. `Resources` has their types. */
function createResources(transport: Transport, projectId: string | undefined): Record<string, Record<string, Method>> {
  const resources = Object.entries(OPERATIONS).map(([resource, operations]) => {
    const methods = Object.entries<Operation>(operations).map(([name, operation]) => [
      name,
      methodOf(transport, operation, projectId),
    ]);
    return [resource, Object.fromEntries(methods)] as const;
  });
  const byName: Record<string, Record<string, Method>> = Object.fromEntries(resources);
  for (const name of Object.keys(LIVE_FIELDS) as LiveResource[]) {
    const { list } = byName[name]!;
    byName[name]!.follow = followOf(transport, name, list!, projectId);
  }
  return byName;
}

/** A method takes the arguments in its path, then the body or the query if there is one, then the options. */
function methodOf(transport: Transport, operation: Operation, defaultProjectId: string | undefined): Method {
  const { method, takes, returns } = operation;
  return (...given) => {
    const inPath = given.slice(0, operation.arguments.length);
    const [content, options] = takes === 'nothing' ? [undefined, given[inPath.length]] : given.slice(inPath.length);
    const { projectId = defaultProjectId, ...callOptions } = (options ?? {}) as CreateOptions;
    const values = {
      projectId,
      ...Object.fromEntries(operation.arguments.map((name, index) => [name, inPath[index]])),
    };
    const path = fillIn(operation.path, values);
    const call = (query?: Query) => ({
      method,
      path,
      query,
      ...(takes === 'body' && { body: content ?? {} }),
      options: callOptions,
      ...(returns === 'list' && { isExpected: isPage }),
    });
    const send = (query?: Query) => transport.send(call(query));
    const query = takes === 'query' ? ((content ?? {}) as Query) : undefined;
    if (returns === 'one') return send(query);
    if (returns === 'export') return createExported((format) => transport.download(call({ ...query, format })));
    return createListing((after) => send(after === undefined ? query : { ...query, after }) as Promise<never>);
  };
}

function followOf(
  transport: Transport,
  resource: LiveResource,
  list: Method,
  defaultProjectId: string | undefined,
): Method {
  return (...given) => {
    const [query, options] = isFiltered(resource) ? given : [undefined, given[0]];
    const followOptions = { projectId: defaultProjectId, ...((options ?? {}) as FollowOptions) };
    const { projectId, signal } = followOptions;
    if (!projectId) throw missing('projectId');
    const filter = (query ?? {}) as Query;
    return followResource(
      transport,
      resource,
      (after) => list({ ...filter, after, limit: 100 }, { projectId, signal }) as AnyListing,
      filter,
      { ...followOptions, projectId },
    );
  };
}

function fillIn(path: string, values: Readonly<Record<string, unknown>>): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name];
    if (typeof value !== 'string' || value === '') throw missing(name);
    // In a URL, these segments name the path itself and the one above it, even if they are encoded.
    if (value === '.' || value === '..') throw new TypeError(`${name} can't be "${value}".`);
    return encodeURIComponent(value);
  });
}

function missing(name: string): TypeError {
  const advice = name === 'projectId' ? ' Set it in the options of the client or of this call.' : '';
  return new TypeError(`${name} is missing.${advice}`);
}
