import { describe, expect, test } from 'vitest';
import { findProblems, parseSource, readSources } from '../scripts/folders.ts';

const MAX_LINES = 300;

const sources = readSources();

/** Each result names the importing file, so that a failure shows what to change. */
const importsOf = (files: RegExp, targets: RegExp, kind: 'any' | 'runtime' = 'any') =>
  sources
    .filter(({ path }) => files.test(path))
    .flatMap(({ path, imports }) =>
      imports
        .filter(({ target, isType }) => targets.test(target) && (kind === 'any' || !isType))
        .map(({ target }) => `${path} imports ${target}`),
    );

const linesWith = (pattern: RegExp, files: (path: string) => boolean) =>
  sources
    .filter(({ path }) => files(path))
    .flatMap(({ path, code }) =>
      code.split('\n').flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : [])),
    );

describe('the check of imports between folders', () => {
  const INJECTED: [path: string, text: string][] = [
    ['src/delivery/send/signing.ts', "import { createWebhookService } from '../../features/webhooks/service.ts';"],
    ['src/delivery/send/jobs.ts', "import { createPacing } from '../flow/pacing.ts';"],
    ['src/delivery/flow/capacity.ts', "import { IS_FREE } from '../queue/claim.ts';"],
    ['src/delivery/queue/claim.ts', "import type { ReplayJob } from '../replay/batch.ts';"],
    ['src/connectors/types/slack.ts', "import { createDeliveryWorker } from '../../delivery/worker.ts';"],
    ['src/connectors/definition.ts', "import { getConnector } from './types/registry.ts';"],
    ['src/live/feed.ts', "import type { GraphQLServer } from '../graphql/yoga.ts';"],
    ['src/features/webhooks/service.ts', "import { builder } from '../../graphql/schema.ts';"],
    ['src/features/destinations/input.ts', "import { activity } from '../webhooks/service.ts';"],
    ['src/egress/egress.ts', "const { openDatabase } = await import('../database/client.ts');"],
    ['src/errors.ts', "export { newId } from './ids.ts';"],
    ['src/console/parts/page.tsx', "import { Shell } from '../layout/shell.tsx';"],
  ];

  test.each(INJECTED)('finds an upward import in %s: %s', (path, text) => {
    const injected = sources.map((source) =>
      source.path === path ? parseSource(path, `${text}\n${source.text}`) : source,
    );
    expect(sources.some((source) => source.path === path)).toBe(true);
    expect(findProblems(injected).join('\n')).toContain(`${path} imports`);
  });

  test("doesn't take code in a template for an import", () => {
    const { imports } = parseSource('src/a.ts', "const example = `\nimport { a } from 'viem';\n`;");
    expect(imports).toEqual([]);
  });

  test('finds a circular type import within one folder', () => {
    const files = [
      parseSource('src/bus/a.ts', "import type { B } from './b.ts';"),
      parseSource('src/bus/b.ts', "import type { A } from './a.ts';"),
    ];
    expect(findProblems([...sources, ...files])).toEqual(['src/bus/a.ts → src/bus/b.ts → src/bus/a.ts']);
  });
});

test('the checks find the source files and their imports', () => {
  expect(sources.length).toBeGreaterThan(100);
  expect(sources.find(({ path }) => path === 'src/roles/api.ts')?.imports.length).toBeGreaterThan(30);
});

/** The console's files, which run in the browser. */
const CONSOLE = /^src\/console\//;
const GRAPHQL_PACKAGES = String.raw`graphql($|\/|-)|@pothos\/|@graphql-|@envelop\/|@escape\.tech\/`;
const HTTP_PACKAGES = String.raw`@?fastify($|\/)|ws$`;

describe('imports go from transport to features to the database', () => {
  const RULES: [rule: string, files: RegExp, forbidden: RegExp][] = [
    [
      "services don't import GraphQL or HTTP",
      /^src\/features\/(?!.*\/schema\.ts$)/,
      new RegExp(`^(src\\/(graphql|rest|http)\\/|${GRAPHQL_PACKAGES}|${HTTP_PACKAGES})|\\/schema\\.ts$`),
    ],
    [
      'schemas reach the database only through services',
      /^src\/features\/.*\/schema\.ts$/,
      /^(src\/(database|delivery|secrets|egress|rest|http)\/|pg$|@prisma\/)/,
    ],
    [
      "REST runs GraphQL documents and doesn't import services, the database, or delivery",
      /^src\/rest\//,
      /^(src\/features\/.*\/(service|schema)\.ts|src\/(database|delivery|connectors|egress|secrets|generated\/prisma)\/|pg$|@prisma\/)/,
    ],
    [
      "delivery, connectors, and everything below them don't import a transport",
      /^src\/(delivery|connectors|egress|database|secrets|limits|bus|auth|events|audit)\//,
      new RegExp(
        `^(src\\/(graphql|rest|http)\\/|src\\/features\\/.*\\/(service|schema)\\.ts|${GRAPHQL_PACKAGES}|${HTTP_PACKAGES})`,
      ),
    ],
    [
      'connectors are pure: they send nothing, store nothing, and read no stored secrets',
      /^src\/connectors\//,
      /^(src\/(delivery|egress|database|auth|live|limits|generated)\/|pg$|pino$|node:(?!crypto$))/,
    ],
    [
      "egress doesn't import code that sends requests through it",
      /^src\/egress\//,
      /^src\/(?!egress\/|(errors|library-member|lru)\.ts)/,
    ],
    [
      "shared files don't import anything above them",
      /^src\/(clock|errors|how-to-run|ids|lru|money|validation|version)\.ts$/,
      /^src\/(?!(clock|did-you-mean|errors|version)\.ts$)/,
    ],
    ['only the process imports the composition root', /^src\/(?!main\.ts)/, /^src\/app\.ts$/],
    [
      'only the composition root imports roles',
      /^src\/(?!app\.ts)/,
      /^src\/roles\/(?!(resources|overrides|sweeps|hold)\.ts)/,
    ],
    ['only the command that starts the process imports it', /^src\/(?!cli\/commands\/start\.ts)/, /^src\/main\.ts$/],
    ['the source code imports no tests or scripts', /^src\//, /^(test|scripts|bench)\//],
    ["the service doesn't import the command line", /^src\/(?!cli\/)/, /^src\/cli\//],
    [
      'the command line is an API client and imports only pure code and configuration from the service',
      /^src\/cli\/(?!doctor\/|installation\.ts$)/,
      /^src\/(app\.ts|(database|egress|gateway|graphql|http|live|rest|sandbox(?!\/test-buyer)|connectors)\/|secrets\/(?!mask-url\.ts)|features\/.*\/(service|schema)\.ts|generated\/prisma\/)/,
    ],
    [
      'the console uses the service only through its API, except for the arithmetic of days',
      CONSOLE,
      /^src\/(?!console\/|generated\/console\/|time-zone\.ts$)|^node:/,
    ],
    ['the arithmetic of days, which the console shares, imports nothing', /^src\/time-zone\.ts$/, /./],
    [
      "the service doesn't import the console",
      /^src\/(?!console\/)/,
      /^src\/(console|generated\/console)\/|^(react|@mantine|urql|wouter)/,
    ],
    [
      "shared console files don't import pages or routes",
      /^src\/console\/(api|session|parts)\//,
      /^src\/console\/(pages|routes)/,
    ],
  ];

  test.each(RULES)('%s', (_rule, files, forbidden) => {
    expect(sources.some(({ path }) => files.test(path))).toBe(true);
    expect(importsOf(files, forbidden)).toEqual([]);
  });

  test('REST imports only types from features', () => {
    expect(importsOf(/^src\/rest\//, /^src\/features\//, 'runtime')).toEqual([]);
  });
});

describe('only src/egress/, the database driver, and the command line open connections', () => {
  // The command line calls only addresses that its own user chose, so it needs no protection.
  const outside = (path: string) =>
    !path.startsWith('src/egress/') && path !== 'src/cli/http.ts' && !CONSOLE.test(path);

  test('nothing else imports an HTTP client', () => {
    const clients =
      /^(undici|node-fetch|axios|got|ky|superagent|needle|http2-wrapper|node:http2|node:dgram|node:tls|node:https)($|\/)/;
    expect(importsOf(/^src\/(?!egress\/|cli\/http\.ts)/, clients, 'runtime')).toEqual([]);
  });

  test('nothing else calls fetch, opens a socket, or sends a request', () => {
    const calls = [
      /(?<![.\w])fetch\s*\(/,
      /\b(globalThis|global)\.(fetch|WebSocket|EventSource)\b/,
      /\bnew (WebSocket|EventSource|XMLHttpRequest|Socket|TLSSocket)\b/,
      /\b(http|https|net|tls|http2)\.(request|get|connect|createConnection)\s*\(/,
    ];
    for (const call of calls) expect(linesWith(call, outside)).toEqual([]);
  });

  test('nothing else imports functions of node:http, node:net, or node:dns that open connections', () => {
    const harmless = new Set(['isIP', 'isIPv4', 'isIPv6', 'METHODS', 'STATUS_CODES', 'createServer', 'BlockList']);
    const found = sources
      .filter(({ path }) => outside(path))
      .flatMap(({ path, imports }) =>
        imports
          .filter(({ target }) => /^node:(http|net|dns|dns\/promises)$/.test(target))
          .flatMap(({ names }) => names.filter((name) => !harmless.has(name)))
          .map((name) => `${path} imports ${name}`),
      );
    expect(found).toEqual([]);
  });

  test('only database/ and bus/ connect to the database', () => {
    expect(importsOf(/^src\/(?!database\/|bus\/)/, /^(pg|@prisma\/adapter-pg)$/, 'runtime')).toEqual([]);
  });
});

describe('the types that enforce the tenant filter', () => {
  const filesWith = (pattern: RegExp) => sources.filter(({ code }) => pattern.test(code)).map(({ path }) => path);
  const DEFINITIONS = ['src/database/tenant-client.ts', 'src/database/tenant-filter.ts'];
  const except = (paths: string[], known: string[]) => paths.filter((path) => !known.includes(path));

  test('only a few files decide what counts as a tenant filter', () => {
    const casts =
      /\bas (unknown as )?[^;\n]*\b(TenantFilter|Filtered|VisibleProjectId|VisibleProject|TenantClient|TenantDatabase)\b/;
    expect(except(filesWith(/\bmarked\(/), DEFINITIONS)).toEqual([
      'src/auth/access.ts',
      // Its functions require a `VisibleProjectId`.
      'src/database/pages.ts',
      'src/features/deletions/soft-delete.ts',
      // Whether someone can respond to an invitation or an offer doesn't depend on a project.
      'src/features/members/invitations/service.ts',
      'src/features/members/transfers/service.ts',
    ]);
    expect(except(filesWith(casts), DEFINITIONS)).toEqual(['src/auth/access.ts']);
  });

  test('only rules about limits, names, owners, and accounts bypass them', () => {
    expect(except(filesWith(/\bunfiltered\(/), DEFINITIONS)).toEqual([
      'src/features/connectors/service.ts',
      'src/features/endpoints/service.ts',
      'src/features/events/service.ts',
      'src/features/members/invitations/service.ts',
      'src/features/members/service.ts',
      'src/features/members/transfers/service.ts',
      'src/features/operator/service.ts',
      'src/features/project-copies/service.ts',
      'src/features/projects/service.ts',
      'src/features/webhooks/service.ts',
    ]);
  });

  test('every service that acts for a viewer uses them', () => {
    const inFront = sources
      .filter(({ path, code }) => /^src\/(features|live)\//.test(path) && /\bViewer\b/.test(code))
      .filter(({ code }) => /\bdb: (Pick<)?Database\b|\bPrismaClient\b/.test(code))
      .map(({ path }) => path);
    expect(inFront).toEqual([
      // These files count what is in a project or an account. The services pass them the client.
      'src/features/connectors/quota.ts',
      // The sweep uses this file, too.
      'src/features/projects/hosts/checks.ts',
      'src/features/webhooks/quota.ts',
    ]);
  });
});

describe('code style', () => {
  test('files and folders have kebab-case names', () => {
    const names = sources.flatMap(({ path }) => path.split('/').slice(1));
    expect(names.filter((name) => !/^[a-z0-9]+(-[a-z0-9]+)*(\.tsx?)?$/.test(name))).toEqual([]);
  });

  test(`no file has more than ${MAX_LINES} lines`, () => {
    const long = sources.map(({ path, text }) => ({ path, lines: text.trimEnd().split('\n').length }));
    expect(long.filter(({ lines }) => lines > MAX_LINES)).toEqual([]);
  });

  test('there are no default exports and no barrel files', () => {
    expect(linesWith(/^export default\b/, () => true)).toEqual([]);
    expect(linesWith(/^export (\*|\{[^}]*\}|type \{[^}]*\}) from\b/, () => true)).toEqual([]);
    expect(sources.filter(({ path }) => /\/index\.ts$/.test(path))).toEqual([]);
  });

  test('imports have file extensions, and Node modules have the node: prefix', () => {
    const bare =
      /^(assert|buffer|child_process|crypto|dns|events|fs|http|https|net|os|path|process|stream|timers|tls|url|util|worker_threads|zlib)($|\/)/;
    const wrong = sources.flatMap(({ path, imports }) =>
      imports
        .filter(({ target }) => (target.startsWith('src/') ? !/\.(tsx?|css|json)$/.test(target) : bare.test(target)))
        .map(({ target }) => `${path} imports ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  test('no comment silences the type checker or the linter, and there are no to-do comments', () => {
    expect(sources.filter(({ text }) => /@ts-(ignore|nocheck|expect-error)|biome-ignore/.test(text))).toEqual([]);
    const todo = /\b(TODO|FIXME|XXX|HACK)\b/;
    expect(sources.filter(({ text }) => todo.test(text)).map(({ path }) => path)).toEqual([]);
  });

  test('imports have no side effects, except in entry points and schema definitions', () => {
    const entryPoints =
      /^src\/(main\.ts|cli\/main\.ts|console\/main\.tsx|database\/embedded\/supervisor\.ts|features\/imports\/openapi\/openapi-reader\.ts)$/;
    // Pothos collects types on its builder while the files that define them load.
    const definitions = /^src\/(features\/.*\/schema|(schema\/(builder|scalars)|graphql\/schema))\.ts$/;
    const statement =
      /^(?!(import|export|const|let|function|async function|type|interface|class|declare)\b)[A-Za-z_$([{'"`].*/;
    const found = sources
      .filter(({ path }) => !entryPoints.test(path))
      .flatMap(({ path, code }) =>
        withoutTemplates(code)
          .split('\n')
          .filter((line) => statement.test(line))
          .filter((line) => !(definitions.test(path) && /^builder\.\w+\(/.test(line)))
          .map((line) => `${path}: ${line}`),
      );
    expect(found).toEqual([]);
    expect(linesWith(/^(export )?(const|let) .*= await\b|^await\b/, (path) => !entryPoints.test(path))).toEqual([]);
    expect(linesWith(/^(export )?(const|let) \w+ = (setInterval|setTimeout|createServer)\(/, () => true)).toEqual([]);
  });
});

/** Empties template literals, because their lines can look like statements. */
function withoutTemplates(code: string): string {
  return code.replace(/`(?:[^`\\]|\\.)*`/gs, '``');
}
