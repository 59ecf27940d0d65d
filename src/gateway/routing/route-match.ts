/** Something that has an endpoint path. */
export type Routed = { pattern: readonly string[] };

type Node<R> = { fixed: Map<string, Node<R>>; parameter?: Node<R>; route?: R; rest?: R };

/**
 * Builds a matcher over endpoint paths. Segment by segment a fixed one wins over `:name`, and `:name` over a last `*`,
 * which stands for any rest, an empty one behind a slash included. Of two paths of the same shape the first given wins.
 *
 * @returns a function from the canonical segments of a request to its route.
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
    // The empty segment behind a slash at the end is nothing that could have a name.
    (segment !== '' && node.parameter ? find(node.parameter, segments, index + 1) : undefined) ??
    node.rest
  );
}
