/** The folders in `src/` from top to bottom. A folder imports only from folders below it; see `check-folders.ts`. */

import { globSync, readFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { parseSync } from 'rolldown/utils';

const ROOT = resolve(import.meta.dirname, '..');

/**
 * Each folder in `src/`, or file at its top level, with a description. A subfolder that isn't listed belongs to its
 * parent.
 */
export const FOLDERS: readonly (readonly [folder: string, what: string])[] = [
  [
    'cli',
    'the command line: a client of the API, and the way to start the process; `commands/` has one file per command',
  ],
  ['main.ts', 'the process: configuration, database, application, signals'],
  ['welcome.ts', 'what the process prints once it is running'],
  ['app.ts', 'sets up the resources shared by all roles'],
  ['roles', 'the roles `api`, `gateway`, and `worker`; a process loads only the roles it has'],
  ['metrics', 'the Prometheus metrics and their names'],
  ['sandbox', 'the local chain, facilitator, and demo API, for development only'],
  ['rest', 'the REST API: routes in `routes/`, their documents in `operations/*.graphql`, idempotency, OpenAPI'],
  ['graphql', 'the GraphQL transports: HTTP, WebSocket, limits, error masking'],
  ['gateway', 'the paid routes'],
  ['gateway/payment', 'one payment: parsing, terms, claiming, settling, recovery'],
  ['gateway/discovery', 'endpoint documentation for agents: how to call them, OpenAPI, `llms.txt`'],
  ['gateway/routing', 'finding the endpoint for a request'],
  ['gateway/mcp', 'messages to MCP servers, and the results of tool calls'],
  ['gateway/upstream', "the call to the seller's API and its response"],
  ['http', 'the HTTP server: bodies, authentication, error responses, health'],
  ['live', 'the feed that subscriptions read'],
  ['features/search', 'finding items by ID, hash, wallet, or part of a name'],
  ['features/audit', 'one folder per resource: `service.ts` has the rules, `schema.ts` the GraphQL types and fields'],
  ['features/members', 'sharing a project: members, invitations, and transfers to a new owner'],
  ['features/notices', 'what owners are notified about: notices, contacts, and the weekly digest'],
  ['features/delivery-stats', ''],
  ['features/accounts', 'for operators: the health of all accounts, and resending an account’s failed deliveries'],
  ['features/replays', ''],
  ['features/deliveries', ''],
  ['features/project-copies', 'creating a live copy of a test project'],
  ['features/connectors', 'managing connectors; `connectors/` has their types, and `delivery/send/` sends to them'],
  ['features/webhooks', ''],
  ['features/destinations', 'code shared by webhooks and connectors'],
  ['features/revenue', ''],
  ['features/customers', ''],
  ['features/payments', ''],
  ['features/installation', 'whether the service is on hold'],
  ['features/imports', 'importing endpoints from OpenAPI documents'],
  ['features/endpoints', ''],
  ['features/events', 'recording events along with their deliveries, and listing them; `events/` has their types'],
  ['features/api-keys', ''],
  ['features/projects', ''],
  ['features/deletions', 'cleaning up after deleted projects, webhooks, and connectors'],
  ['features/operator', 'tools for operators: users’ tiers and rate limits, and blocked accounts'],
  ['features/users', ''],
  ['features/idempotency', ''],
  ['features/rotation', 'how long a replaced secret still works'],
  ['features/headers', 'request headers with secret values: the rules, masks, and encryption'],
  ['features/urls', 'URLs that sellers enter and see'],
  [
    'schema',
    'tools for building the GraphQL types: the builder, scalars, pages, the context; `graphql/schema.ts` puts the types together',
  ],
  ['delivery', 'the delivery worker'],
  ['delivery/replay', 'replays: resending many deliveries'],
  ['delivery/outcome', 'interpreting and recording attempts, and destination health'],
  ['delivery/queue', 'due deliveries: claims, leases, order'],
  ['delivery/flow', 'deciding which deliveries can be sent now: capacity, rate limits, circuits'],
  ['delivery/send', 'building, signing, and sending requests'],
  ['delivery/model', 'the data that the other folders pass around: claimed deliveries, attempts, error classes'],
  ['audit', 'writing the audit log'],
  ['connectors/types', 'one file per connector type, and the registry'],
  ['connectors/shared', 'code shared by several connector types'],
  ['connectors', 'the contract for connector types'],
  ['events', 'the vocabulary of events: types, fields, samples, versions, filters'],
  ['config', 'environment variables and the configuration'],
  ['gateway/chain', 'the networks, the node, and the facilitator; below `config`, because settings name networks'],
  ['auth', 'tokens, API keys, identifying callers, and limiting what they can see (`access.ts`)'],
  ['bus', 'hints between processes'],
  [
    'limits',
    'tiers, rate limits, and limits on what runs at the same time; `graphql/limits.ts` limits what documents may contain',
  ],
  ['log.ts', 'the logger'],
  ['log-output.ts', 'writing the log to standard output, which may be on a full disk'],
  ['secrets', 'encryption at rest, key rotation, masking'],
  ['tracing', 'spans; the OpenTelemetry SDK is loaded only if a collector is configured'],
  ['database', 'client, migrations, partitions'],
  ['database/embedded', 'PostgreSQL from the npm packages'],
  ['egress', 'all outgoing connections'],
  ['operation.ts', 'work that a caller waits for, its deadline, and its place in the queue'],
  ['request-context.ts', 'the ID of the current request'],
  ['library-member.ts', 'a check that a library has what this code uses of its inside'],
  ['loop.ts', 'background work that repeats'],
  ['wake-signal.ts', 'waking a loop early'],
  ['retry-after.ts', 'parsing `Retry-After`'],
  ['validation.ts', 'validating input'],
  ['lru.ts', 'caches with a maximum number of entries'],
  ['did-you-mean.ts', 'suggestions for misspelled names'],
  ['money.ts', 'amounts'],
  ['ids.ts', 'IDs'],
  ['errors.ts', 'the error catalog'],
  ['clock.ts', 'the time'],
  ['how-to-run.ts', 'the commands to show to users, in a clone and in the build'],
  ['version.ts', 'the version'],
  ['console/main.tsx', 'the web console, a browser client of the GraphQL API'],
  ['console/app.tsx', ''],
  ['console/layout', 'the frame around every page, and sign-in'],
  ['console/layout/palette', 'search, and everything that it can open or do'],
  ['console/pages', 'the routes'],
  ['console/pages/overview', 'one folder per page'],
  ['console/pages/deliveries', ''],
  ['console/pages/replays', ''],
  ['console/pages/events', ''],
  ['console/pages/payments', ''],
  ['console/pages/customers', ''],
  ['console/pages/endpoints', ''],
  ['console/pages/webhooks', ''],
  ['console/pages/connectors', ''],
  ['console/pages/api-keys', ''],
  ['console/pages/audit-log', ''],
  ['console/pages/notices', ''],
  ['console/pages/limits', ''],
  ['console/pages/settings', ''],
  ['console/pages/graphql', ''],
  ['console/pages/rest', ''],
  ['console/pages/projects', ''],
  ['console/parts', 'components shared by pages'],
  ['console/api', 'calls to the API'],
  ['console/session', 'the signed-in user'],
  ['console/theme.ts', ''],
  ['time-zone.ts', 'days in time zones, for the server and the console'],
];

/** `names`: what is imported, except types. A namespace is `*`. */
export type Import = { target: string; isType: boolean; names: string[] };
/** A source file. `code` is its text without comments, but with the same line numbers. */
export type Source = { path: string; text: string; code: string; imports: Import[] };

/** Reads the imports of a file; `path` is relative to the root of the repository. */
export function parseSource(path: string, text: string): Source {
  const { module, comments, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]!.message}`);
  const { staticImports, staticExports, dynamicImports } = module;
  const imports = [
    ...staticImports.map(({ moduleRequest, entries }) => toImport(path, moduleRequest.value, entries)),
    ...staticExports.flatMap(({ entries }) =>
      entries.flatMap((entry) => (entry.moduleRequest ? [toImport(path, entry.moduleRequest.value, [entry])] : [])),
    ),
    ...dynamicImports.flatMap(({ moduleRequest: { start, end } }) => {
      const literal = /^['"](.+)['"]$/.exec(text.slice(start, end));
      return literal ? [toImport(path, literal[1]!, [ALL])] : [];
    }),
  ];
  return { path, text, code: withoutSpans(text, comments), imports };
}

type Entry = { isType: boolean; importName: { name: string | null; kind: string } };

const ALL: Entry = { isType: false, importName: { name: null, kind: 'NamespaceObject' } };

function toImport(path: string, specifier: string, entries: readonly Entry[]): Import {
  const target = specifier.startsWith('.') ? relative(ROOT, resolve(ROOT, dirname(path), specifier)) : specifier;
  const values = entries.filter(({ isType }) => !isType);
  const names = values.map(({ importName: { name, kind } }) => name ?? (kind === 'Default' ? 'default' : '*'));
  return { target, isType: entries.length > 0 && values.length === 0, names };
}

/** Removes parts of a text, but keeps their line breaks. */
function withoutSpans(text: string, spans: readonly { start: number; end: number }[]): string {
  let end = 0;
  const parts = spans.flatMap((span) => {
    const before = text.slice(end, span.start);
    end = span.end;
    return [before, text.slice(span.start, span.end).replace(/[^\n]/g, '')];
  });
  return parts.join('') + text.slice(end);
}

/** All files in `src/`, except generated ones. */
export function readSources(): Source[] {
  return globSync('src/**/*.{ts,tsx}', { cwd: ROOT })
    .filter((path) => !path.startsWith('src/generated/'))
    .sort()
    .map((path) => parseSource(path, readFileSync(resolve(ROOT, path), 'utf8')));
}

const RANKS = new Map(FOLDERS.map(([folder], index) => [folder, index]));

/** The listed folder that a file belongs to: its own, or the nearest above it. */
function folderOf(path: string): string | undefined {
  let folder = path.replace(/^src\//, '');
  while (!RANKS.has(folder) && folder.includes('/')) folder = dirname(folder);
  return RANKS.has(folder) ? folder : undefined;
}

/**
 * The problems with the imports, one sentence each: upward imports, files that aren't in a listed folder, folders
 * without files, and files that import each other. Type imports count too.
 */
export function findProblems(sources: readonly Source[]): string[] {
  return [...findUnlisted(sources), ...findUpward(sources), ...findCycles(sources)];
}

function findUnlisted(sources: readonly Source[]): string[] {
  const used = new Set(sources.map(({ path }) => folderOf(path)));
  return [
    ...sources.filter(({ path }) => !folderOf(path)).map(({ path }) => `${path} has no folder in scripts/folders.ts`),
    ...FOLDERS.filter(([folder]) => !used.has(folder)).map(([folder]) => `${folder} is listed but has no files`),
  ];
}

function findUpward(sources: readonly Source[]): string[] {
  return sources.flatMap(({ path, imports }) => {
    const folder = folderOf(path);
    return imports
      .filter(({ target }) => target.startsWith('src/') && !target.startsWith('src/generated/'))
      .filter(({ target }) => {
        const below = folderOf(target);
        return folder && below && RANKS.get(folder)! > RANKS.get(below)!;
      })
      .map(({ target, isType }) => `${path} imports ${isType ? 'a type from ' : ''}${target}, which is above it`);
  });
}

function findCycles(sources: readonly Source[]): string[] {
  const graph = new Map(sources.map(({ path, imports }) => [path, imports.map(({ target }) => target)]));
  const done = new Set<string>();
  const cycles: string[] = [];
  function visit(path: string, trail: string[]): void {
    if (trail.includes(path)) cycles.push([...trail.slice(trail.indexOf(path)), path].join(' → '));
    if (done.has(path) || trail.includes(path)) return;
    for (const target of graph.get(path) ?? []) visit(target, [...trail, path]);
    done.add(path);
  }
  for (const path of graph.keys()) visit(path, []);
  return cycles;
}
