import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalRequest } from '../../../src/gateway/routing/canonical-request.ts';
import { createMatcher, requireRoute } from '../../../src/gateway/routing/route-match.ts';

type Route = ReturnType<typeof routed>;

const routed = (path: string, price: number, options: { methods?: string[]; previously?: number[] } = {}) => ({
  path,
  pattern: path.slice(1).split('/'),
  priceAtomic: BigInt(price),
  previousPrices: (options.previously ?? []).map((previous) => ({ priceAtomic: BigInt(previous) })),
  methods: options.methods ?? [],
});

/** Returns the path of a request's route, and of the more expensive route that causes the request to be rejected. */
function find(routes: Route[], target: string, method = 'GET') {
  const request = canonicalRequest(target);
  if (!request.ok) throw new Error(request.message);
  const found = createMatcher(routes)(request.segments, method);
  return { route: found?.route?.path, moreExpensive: found?.moreExpensive?.path };
}

const shop = [
  routed('/*', 1),
  routed('/premium', 1_000),
  routed('/Reports/:id', 1_000),
  routed('/reports/free', 0),
  routed('/caf%C3%A9s', 1_000),
  routed('/files/*', 1_000),
  routed('/files/cheap', 1),
  routed('/users/:id', 1_000),
  routed('/users/me', 1),
  routed('/orders', 1_000, { methods: ['POST'] }),
];

describe('a path that a server could mistake for a more expensive route’s path', () => {
  test.each([
    ['in another case with a trailing slash', '/PREMIUM/', '/premium'],
    ['with a path parameter before a trailing slash', '/premium;x/', '/premium'],
    ['in another case', '/PREMIUM', '/premium'],
    ['with a path parameter', '/premium;x', '/premium'],
    ['with an encoded path parameter', '/premium%3Bx=1', '/premium'],
    ['with a segment that is only a path parameter', '/;x/premium', '/premium'],
    ['with all of these', '/;x/pReMiUm;y/;z/', '/premium'],
    ['in lowercase if the route has uppercase', '/reports/7', '/Reports/:id'],
    ['in lowercase with a slash after a parameter', '/reports/7/', '/Reports/:id'],
    ['with other escapes', '/caf%C3%89s', '/caf%C3%A9s'],
    ['before a trailing star', '/FILES/a/b', '/files/*'],
    ['with a prefix in another case, if a server could still tell the rest apart', '/Files/Cheap', '/files/*'],
  ])('%s', (_what, target, path) => {
    expect(find(shop, target)).toEqual({ route: undefined, moreExpensive: path });
  });

  test('is rejected for the same method', () => {
    expect(find(shop, '/ORDERS', 'POST').moreExpensive).toBe('/orders');
    expect(find(shop, '/ORDERS', 'GET').route).toBe('/*');
  });

  test('is rejected if only a less specific route serves the method', () => {
    const routes = [
      routed('/*', 1),
      routed('/a/b', 1, { methods: ['GET'] }),
      routed('/a/:x', 2, { methods: ['POST'] }),
    ];
    expect(find(routes, '/A/b', 'POST').moreExpensive).toBe('/a/:x');
    expect(find(routes, '/A/b', 'GET').route).toBe('/*');
  });

  test('is rejected even if a price was raised so recently that the old one is still accepted', () => {
    const routes = [routed('/*', 1_000, { previously: [1] }), routed('/premium', 1_000)];
    expect(find(routes, '/PREMIUM').moreExpensive).toBe('/premium');
    expect(find(routes, '/other/').route).toBe('/*');
  });

  test('is rejected with an error that says how to spell it', () => {
    expect(() => requireRoute(createMatcher(shop)(['PREMIUM'], 'GET'))).toThrow(
      expect.objectContaining({
        code: 'NOT_FOUND',
        message: expect.stringContaining('another spelling of "/premium"'),
      }),
    );
  });
});

describe('a path with a trailing slash', () => {
  test.each([
    ['fixed', '/premium/', '/premium'],
    ['with a parameter', '/Reports/7/', '/Reports/:id'],
    ['below a cheaper star', '/users/7/', '/users/:id'],
  ])('is sold as the more expensive route whose path it has otherwise: %s', (_what, target, path) => {
    expect(find(shop, target)).toEqual({ route: path, moreExpensive: undefined });
  });

  test('is rejected if the route without the slash is cheaper than one that a server could find', () => {
    const routes = [routed('/a/:x', 1), routed('/:x/b/:y', 1_000), routed('/A/:x/:y', 500)];
    expect(find(routes, '/a/b/').route).toBe('/a/:x');
    expect(find([...routes, routed('/:x/b/*', 1_000)], '/a/b/').route).toBe('/:x/b/*');
    expect(find([...routes, routed('/A/*', 1_000), routed('/*', 1)], '/a/b/').moreExpensive).toBe('/A/*');
  });

  test('is sold at the price of the star that matches it, if that is higher', () => {
    const routes = [routed('/health', 0), routed('/*', 1_000)];
    expect(find(routes, '/health/').route).toBe('/*');
    expect(find(routes, '/health').route).toBe('/health');
  });
});

describe('a route is found for', () => {
  test.each([
    ['a path spelled like the route', '/premium', '/premium'],
    ['a path that no other route has in any spelling', '/Other;x/', '/*'],
    ['a path that only starts like a more expensive route’s path', '/premium/x', '/*'],
    ['a path that differs in more than its spelling', '/premiums', '/*'],
    ['another spelling of a cheaper path', '/Reports/FREE', '/Reports/:id'],
    ['another spelling of a cheap path that wins over a more expensive one', '/users/me/', '/*'],
    ['a trailing slash after a fixed path, if a trailing star covers it', '/files/', '/files/*'],
    ['a path without the slash of a trailing star', '/files', '/*'],
  ])('%s', (_what, target, path) => {
    expect(find(shop, target)).toEqual({ route: path, moreExpensive: undefined });
  });

  test('each of two spellings that both have a route', () => {
    const both = [routed('/*', 1), routed('/Premium/:id', 1_000), routed('/premium/:key', 500)];
    expect(find(both, '/premium/7').route).toBe('/premium/:key');
    expect(find(both, '/Premium/7').route).toBe('/Premium/:id');
    expect(find(both, '/PREMIUM/7').moreExpensive).toBeDefined();
  });

  test('the root', () => {
    const routes = [routed('/*', 1), routed('/', 1_000)];
    expect(find(routes, '/').route).toBe('/');
    expect(find(routes, '/;x').moreExpensive).toBe('/');
    expect(find([routed('/', 1), routed('/*', 1_000)], '/').route).toBe('/');
  });
});

test('a path with hundreds of spellings at different prices is rejected, without reading each route for every request', () => {
  let reads = 0;
  const spellings = Array.from({ length: 999 }, (_, index) => {
    const bits = index.toString(2).padStart(10, '0');
    return [...'abcdefghij'].map((letter, at) => (bits[at] === '1' ? letter.toUpperCase() : letter)).join('');
  });
  const routes = spellings.map((name, index) => ({
    methods: [],
    previousPrices: [],
    priceAtomic: index === 0 ? 1n : 2n,
    get pattern() {
      reads += 1;
      return [name, ...Array.from({ length: 31 }, () => 'X')];
    },
  }));
  const match = createMatcher(routes);
  const request = [spellings[0]!, ...Array.from({ length: 31 }, () => 'X')];
  match(request, 'GET');
  reads = 0;
  expect(match(request, 'GET')).toMatchObject({ moreExpensive: { priceAtomic: 2n } });
  expect(reads).toBe(0);
});

/** The differences in spelling that a server ignores when it looks for a request's handler. */
type Server = { case: boolean; escapes: boolean; parameters: boolean; slash: boolean };

/** Express ignores case and the slash, Tomcat ignores escapes and parameters, and others ignore other combinations. */
const SERVERS: Server[] = Array.from({ length: 16 }, (_, bits) => ({
  case: (bits & 1) > 0,
  escapes: (bits & 2) > 0,
  parameters: (bits & 4) > 0,
  slash: (bits & 8) > 0,
}));

/** Whether a server that has a handler for each route's path could call this route's handler. */
function isHandler({ pattern }: Route, path: string, server: Server): boolean {
  const plain = server.parameters ? path.replace(/(?:;|%3B)[^/]*/g, '').replace(/\/{2,}/g, '/') : path;
  const star = pattern.at(-1) === '*';
  const segments = (server.slash && !star ? plain.replace(/(?<=.)\/$/, '') : plain).slice(1).split('/');
  const read = (text: string) => {
    const decoded = server.escapes ? decodeURIComponent(text) : text;
    return server.case ? decoded.toLowerCase() : decoded;
  };
  if (star ? segments.length < pattern.length : segments.length !== pattern.length) return false;
  return pattern.every((part, index) => {
    if (part === '*') return true;
    return part.startsWith(':') ? segments[index] !== '' : read(part) === read(segments[index]!);
  });
}

const rankOf = (part: string) => (part === '*' ? 2 : Number(part.startsWith(':')));

function isLessSpecific(a: Route, b: Route): boolean {
  const differs = a.pattern.findIndex((part, index) => rankOf(part) !== rankOf(b.pattern[index] ?? part));
  return differs >= 0 && rankOf(a.pattern[differs]!) > rankOf(b.pattern[differs]!);
}

/** The routes with handlers that the server could call. There are several if their paths look the same to it. */
function handlersFor(routes: Route[], path: string, method: string, server: Server): Route[] {
  const matching = routes.filter((route) => route.methods.includes(method) && isHandler(route, path, server));
  return matching.filter((route) => !matching.some((other) => isLessSpecific(route, other)));
}

const segment = fc.constantFrom('a', 'A', 'b', 'aB', 'c!', 'c%3A', '%C3%A9', '50%25');
const anyPath = fc
  .tuple(fc.array(fc.oneof(segment, fc.constant(':')), { maxLength: 3 }), fc.constantFrom([], ['*']))
  .map(([parts, end]) => [...parts.map((part, index) => (part === ':' ? `:p${index}` : part)), ...end])
  .map((parts) => `/${parts.join('/')}`);
const anyRoute = fc
  .tuple(anyPath, fc.nat(2), fc.subarray(['GET', 'POST'], { minLength: 1 }))
  .map(([path, price, methods]) => routed(path, price, { methods }));
const anyRoutes = fc.uniqueArray(anyRoute, { selector: ({ path }) => path, minLength: 2, maxLength: 7 });

/** Ways to write a segment that may mean the same. The empty parts add path parameters and slashes. */
const WAYS: ((text: string) => string)[] = [
  (text) => text,
  (text) => text.toUpperCase(),
  (text) => text.toLowerCase(),
  (text) => `${text};x`,
  (text) => `${text}%3bx=1;y`,
  (text) => `;x/${text}`,
  (text) => `${text}/;x`,
  (text) => text.replace(/[a-z]/i, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
  (text) => text.replace('!', '%21').replace('%3A', ':').replace('%C3%A9', '%c3%89'),
];
/** Routes, and a request with a path that may be another spelling of a route's path. */
const anyCase = fc
  .record({
    routes: anyRoutes,
    chosen: fc.nat(),
    values: fc.array(segment, { minLength: 4, maxLength: 4 }),
    ways: fc.array(fc.constantFrom(...WAYS), { minLength: 4, maxLength: 4 }),
    end: fc.constantFrom('', '', '/', '/;x'),
    method: fc.constantFrom('GET', 'POST'),
  })
  .map(({ routes, chosen, values, ways, end, method }) => {
    const { pattern: parts } = routes[chosen % routes.length]!;
    const written = parts.map((part, index) => ways[index]!(rankOf(part) > 0 ? values[index]! : part));
    return { routes, method, request: canonicalRequest(`/${written.join('/')}${end}`) };
  });

const shapeOf = ({ path }: Route) => decodeURIComponent(path).replace(/:p\d/g, ':').toLowerCase();

describe('for any routes and any spelling of a path', () => {
  test('no server calls the handler of a more expensive route for the price of a cheaper one', () => {
    fc.assert(
      fc.property(anyCase, ({ routes, method, request }) => {
        const sold = request.ok && createMatcher(routes)(request.segments, method)?.route;
        if (!sold) return;
        for (const server of SERVERS) {
          for (const handler of handlersFor(routes, request.path, method, server)) {
            if (shapeOf(handler) !== shapeOf(sold)) expect(handler.priceAtomic).toBeLessThanOrEqual(sold.priceAtomic);
          }
        }
      }),
      { numRuns: 5_000 },
    );
  });

  test('a path with a trailing slash is found whenever the same path without it is', () => {
    fc.assert(
      fc.property(anyCase, ({ routes, method, request }) => {
        if (!request.ok || request.segments.at(-1) === '') return;
        const match = createMatcher(routes.map((one) => ({ ...one, priceAtomic: 1n })));
        const plain = match(request.segments, method);
        const slashed = match([...request.segments, ''], method);
        if (plain) expect(slashed).toBeDefined();
        const isCovered = routes.some(({ pattern }) => pattern.at(-1) === '*');
        if (!isCovered) expect(slashed).toEqual(plain);
      }),
      { numRuns: 2_000 },
    );
  });

  test('it is rejected only if a server could mistake it for a more expensive route’s path', () => {
    fc.assert(
      fc.property(anyCase, ({ routes, method, request }) => {
        // Segments that are only path parameters are rejected more often.
        if (!request.ok || request.path.includes('/;')) return;
        const rejected = createMatcher(routes)(request.segments, method)?.moreExpensive;
        if (!rejected) return;
        expect(SERVERS.some((server) => isHandler(rejected, request.path, server))).toBe(true);
        const free = createMatcher(routes.map((one) => ({ ...one, priceAtomic: 0n })))(request.segments, method);
        expect(rejected.priceAtomic).toBeGreaterThan(routes.find((one) => one.path === free?.route?.path)!.priceAtomic);
      }),
      { numRuns: 5_000 },
    );
  });
});
