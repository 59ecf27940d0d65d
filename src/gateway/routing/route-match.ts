import { AppError, notFound } from '../../errors.ts';
import { METHODS, methodsOf } from '../../features/endpoints/methods.ts';
import type { EndpointProtocol } from '../../generated/prisma/client.ts';
import { isPlaceholder } from '../upstream/target.ts';
import { isPlain, loosen, readingsOf, type Spelled } from './spelling.ts';

/** Anything with an endpoint's path, protocol, methods, and prices. An empty list of methods means every method. */
export type Routed = {
  /** Default: true. */
  isActive?: boolean;
  pattern: readonly string[];
  methods: readonly string[];
  /** Default: `HTTP`. */
  protocol?: EndpointProtocol;
  priceAtomic: bigint;
  previousPrices: readonly { priceAtomic: bigint }[];
};

/**
 * The route for a request. If the path has no route for the method, `allow` has the methods that it has routes for. If
 * the path is another spelling of a more expensive route's path, it has no route except `moreExpensive`.
 */
export type Found<R> =
  | { route: R; allow?: undefined; moreExpensive?: undefined }
  | { route?: undefined; allow: readonly string[]; moreExpensive?: undefined }
  | { route?: undefined; allow?: undefined; moreExpensive: R };

/** A search for routes, limited to `MAX_VISITS`. */
type Search<R> = { method: string; possible: Set<R>; visits: number };

/** The routes of one path, by method. */
type Served<R> = Map<string, R>;
/** How many nodes to visit for one request. Only a project with hundreds of spellings of one path has more. */
const MAX_VISITS = 1_000;

type Node<R> = {
  fixed: Map<string, Node<R>>;
  /** The nodes in `fixed`, by their loosened segments. */
  loose: Map<string, Node<R>[]>;
  parameter?: Node<R>;
  served?: Served<R>;
  rest?: Served<R>;
};

/**
 * Builds a matcher for endpoint paths. In each segment, fixed text wins over `:name`, and `:name` wins over a trailing
 * `*`, which matches whatever is left, even if there is nothing after the slash. The path decides first, and then the
 * method: if the best path doesn't have the method, a less specific path doesn't serve the request. Of two routes with
 * the same shape and method, the first wins.
 *
 * If nothing matches a path with a trailing slash, or only a route that is cheaper than the one without the slash, the
 * path without the slash decides. Otherwise, buyers couldn't use the spelling that many frameworks have in their links.
 *
 * Many servers ignore case, a trailing slash, or path parameters, so the upstream could treat a request for `/PREMIUM`,
 * which matches `/*`, like one for `/premium`. For this reason, no route is found for a path that a server could read
 * as the path of a more expensive route, unless the paths of the two routes themselves differ only in their spelling.
 *
 * An inactive route keeps its path: no less specific route serves it. Otherwise, if a seller turned off `/premium`, buyers
 * could get it for the price of `/*`.
 *
 * @returns a function that finds the route for a request's canonical segments and method. It returns undefined if no
 *   path matches.
 */
export function createMatcher<R extends Routed>(
  routes: readonly R[],
): (segments: readonly string[], method: string) => Found<R> | undefined {
  const root = newNode<R>();
  for (const route of routes) insert(root, route);
  const highestAtomic = routes.reduce(
    (highest, { priceAtomic }) => (priceAtomic > highest ? priceAtomic : highest),
    0n,
  );
  const arePlain = routes.every(({ pattern }) => pattern.every((part) => isPlaceholder(part) || loosen(part) === part));

  const shapes = new Map<R, string>();
  function knownShapeOf(route: R): string {
    const shape = shapes.get(route) ?? shapeOf(route);
    shapes.set(route, shape);
    return shape;
  }

  function findMoreExpensive(route: R, segments: readonly string[], method: string): R | undefined {
    const lowestAtomic = lowestPriceOf(route);
    if (lowestAtomic >= highestAtomic || (arePlain && segments.every(isPlain))) return undefined;
    const search = { method, possible: new Set<R>(), visits: 0 };
    for (const reading of readingsOf(segments)) collect(root, reading, 0, search);
    // With too many spellings to check, the path might be one of the most expensive route's.
    if (search.visits > MAX_VISITS) return routes.find(({ priceAtomic }) => priceAtomic === highestAtomic);
    const others = [...search.possible].filter(({ priceAtomic }) => priceAtomic > lowestAtomic);
    return others.find((other) => knownShapeOf(other) !== knownShapeOf(route));
  }

  /** @param path the segments to look up, which can be without the slash that ends `segments`. */
  function lookUp(path: readonly string[], segments: readonly string[], method: string): Found<R> | undefined {
    const served = find(root, path, 0);
    if (!served) return undefined;
    const route = served.get(method);
    if (!isOpen(route)) {
      const allow = METHODS.filter((name) => isOpen(served.get(name)));
      return allow.length > 0 ? { allow } : undefined;
    }
    const moreExpensive = findMoreExpensive(route, segments, method);
    if (!moreExpensive) return { route };
    return isOpen(moreExpensive) ? { moreExpensive } : undefined;
  }

  return (segments, method) => {
    const found = lookUp(segments, segments, method);
    if (segments.at(-1) !== '' || segments.length < 2 || (found && !found.moreExpensive)) return found;
    const withoutSlash = lookUp(segments.slice(0, -1), segments, method);
    return withoutSlash?.route || !found ? withoutSlash : found;
  };
}

/** @throws AppError `NOT_FOUND`, or `METHOD_NOT_ALLOWED` with the path's methods in `Allow` (RFC 9110 §10.2.1) */
export function requireRoute<R extends Routed>(found: Found<R> | undefined): R {
  if (!found) throw notFound();
  if (found.route) return found.route;
  if (found.moreExpensive) {
    const path = `/${found.moreExpensive.pattern.join('/')}`;
    throw new AppError('NOT_FOUND', {
      detail: `This path is another spelling of "${path}", which has a higher price. Spell it exactly like that.`,
    });
  }
  // The gateway handles OPTIONS for every path.
  throw new AppError('METHOD_NOT_ALLOWED', { headers: { allow: [...found.allow!, 'OPTIONS'].join(', ') } });
}

function isOpen<R extends Routed>(route: R | undefined): route is R {
  return route !== undefined && route.isActive !== false;
}

function insert<R extends Routed>(root: Node<R>, route: R): void {
  let node = root;
  for (const segment of route.pattern) {
    if (segment === '*') {
      node.rest = withRoute(node.rest, route);
      return;
    }
    node = segment.startsWith(':') ? parameterChild(node) : fixedChild(node, segment);
  }
  node.served = withRoute(node.served, route);
}

function withRoute<R extends Routed>(served: Served<R> = new Map(), route: R): Served<R> {
  for (const method of methodsOf(route)) if (!served.has(method)) served.set(method, route);
  return served;
}

function fixedChild<R>(node: Node<R>, segment: string): Node<R> {
  const known = node.fixed.get(segment);
  if (known) return known;
  const child = newNode<R>();
  node.fixed.set(segment, child);
  const loose = loosen(segment);
  const others = node.loose.get(loose);
  if (others) others.push(child);
  else node.loose.set(loose, [child]);
  return child;
}

function parameterChild<R>(node: Node<R>): Node<R> {
  node.parameter ??= newNode();
  return node.parameter;
}

function newNode<R>(): Node<R> {
  return { fixed: new Map(), loose: new Map() };
}

function find<R>(node: Node<R>, segments: readonly string[], index: number): Served<R> | undefined {
  const segment = segments[index];
  if (segment === undefined) return node.served;
  const fixed = node.fixed.get(segment);
  return (
    (fixed && find(fixed, segments, index + 1)) ??
    // The empty segment after a trailing slash doesn't match `:name`.
    (segment !== '' && node.parameter ? find(node.parameter, segments, index + 1) : undefined) ??
    node.rest
  );
}

/**
 * Adds to `search.possible` every route that a server could find for the method, where a fixed segment may or may not equal
 * one with another spelling. The order of precedence is that of `find`.
 *
 * @returns whether a server could find no match here and fall back to a less specific path.
 */
function collect<R>(node: Node<R>, reading: readonly Spelled[], index: number, search: Search<R>): boolean {
  search.visits += 1;
  if (search.visits > MAX_VISITS) return false;
  const add = (served: Served<R> | undefined) => {
    const route = served?.get(search.method);
    return route !== undefined && search.possible.add(route);
  };
  const segment = reading[index];
  if (segment === undefined) return !add(node.served);
  let goesOn = !node.fixed.has(segment.text);
  for (const child of node.loose.get(segment.loose) ?? []) {
    goesOn = collect(child, reading, index + 1, search) || goesOn;
  }
  if (goesOn && segment.text !== '' && node.parameter) goesOn = collect(node.parameter, reading, index + 1, search);
  return goesOn && !add(node.rest);
}

/** The lowest price at which the route may still be sold, in atomic units, in case it has just been raised. */
export function lowestPriceOf({
  protocol,
  priceAtomic,
  previousPrices,
}: Pick<Routed, 'protocol' | 'priceAtomic' | 'previousPrices'>): bigint {
  // Everything but tool calls is free.
  if (protocol === 'MCP') return 0n;
  return previousPrices.reduce((lowest, previous) => {
    return previous.priceAtomic < lowest ? previous.priceAtomic : lowest;
  }, priceAtomic);
}

/** The same for all paths that differ only in their spelling. Loosened segments never contain a semicolon. */
function shapeOf({ pattern }: Routed): string {
  return pattern.map((segment) => (isPlaceholder(segment) ? `;${segment[0]}` : loosen(segment))).join('/');
}
