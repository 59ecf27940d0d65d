/** Anything with an endpoint path. */
export type Routed = { pattern: readonly string[] };

type Node<R> = { fixed: Map<string, Node<R>>; parameter?: Node<R>; route?: R; rest?: R };

/**
 * Builds a matcher for endpoint paths. In each segment, fixed text wins over `:name`, and `:name` wins over a trailing
 * `*`, which matches whatever is left, even if there is nothing after the slash. Of two paths with the same shape, the
 * first wins.
 *
 * @returns a function that finds the route for a request's canonical segments.
 */
export function createMatcher<R extends Routed>(routes: readonly R[]): (segments: readonly string[]) => R | undefined {
  const root: Node<R> = { fixed: new Map() };
  for (const route of routes) insert(root, route);
  return (segments) => find(root, segments, 0);
}

function insert<R extends Routed>(root: Node<R>, route: R): void {
  let node = root;
  for (const segment of route.pattern) {
    if (segment === '*') {
      node.rest ??= route;
      return;
    }
    node = segment.startsWith(':') ? parameterChild(node) : fixedChild(node, segment);
  }
  node.route ??= route;
}

function fixedChild<R>(node: Node<R>, segment: string): Node<R> {
  const child = node.fixed.get(segment) ?? { fixed: new Map() };
  node.fixed.set(segment, child);
  return child;
}

function parameterChild<R>(node: Node<R>): Node<R> {
  node.parameter ??= { fixed: new Map() };
  return node.parameter;
}

function find<R>(node: Node<R>, segments: readonly string[], index: number): R | undefined {
  const segment = segments[index];
  if (segment === undefined) return node.route;
  const fixed = node.fixed.get(segment);
  return (
    (fixed && find(fixed, segments, index + 1)) ??
    // The empty segment after a trailing slash doesn't match `:name`.
    (segment !== '' && node.parameter ? find(node.parameter, segments, index + 1) : undefined) ??
    node.rest
  );
}
