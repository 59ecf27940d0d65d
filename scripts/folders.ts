/** The folders of `src/` from top to bottom. A folder imports only from those below it: see `scripts/check-folders.ts`. */

import { globSync, readFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '..');

/** Each folder, or file of `src/` itself, and what is in it. A subfolder that isn't listed belongs to its parent. */
export const FOLDERS: readonly (readonly [folder: string, what: string])[] = [
  ['main.ts', 'the process: configuration, database, application, signals'],
  ['cli', 'the command line, a client of the API: `commands/` has one file per command'],
  ['app.ts', 'builds what all roles share'],
  ['roles', 'what the roles `api`, `gateway` and `worker` are made of; each is loaded only by a process that has it'],
  ['metrics', 'the Prometheus metrics and their names'],
  ['sandbox', 'the local chain, facilitator and demo API, for development only'],
  ['rest', '`routes/` is the table, `operations/*.graphql` the documents; idempotency, OpenAPI'],
  ['graphql', 'the GraphQL transports: HTTP, WebSocket, limits, error masking'],
  ['gateway', 'the paid routes'],
  ['gateway/payment', 'one payment: reading it, its terms, claiming, settling, recovery'],
  ['gateway/routing', 'from a request to its endpoint'],
  ['gateway/upstream', "the call to the seller's API and its response"],
  ['http', 'the HTTP server: bodies, admission, error responses, health'],
  ['live', 'the feed that subscriptions read'],
  ['features/audit', 'a resource per folder: `service.ts` has the rules, `schema.ts` the GraphQL types and fields'],
  ['features/delivery-stats', ''],
  ['features/replays', ''],
  ['features/deliveries', ''],
  ['features/connectors', ''],
  ['features/webhooks', ''],
  ['features/destinations', 'what webhooks and connectors share'],
  ['features/revenue', ''],
  ['features/customers', ''],
  ['features/payments', ''],
  ['features/endpoints', ''],
  ['features/events', ''],
  ['features/api-keys', ''],
  ['features/projects', ''],
  ['features/users', ''],
  ['features/idempotency', ''],
  ['features/urls', 'URLs as sellers give and read them'],
  ['schema', 'what the GraphQL types are built with: the builder, scalars, pages, the context'],
  ['delivery', 'the delivery worker'],
  ['delivery/replay', 'replays: sending many deliveries again'],
  ['delivery/outcome', 'what an attempt means, recording it, the health of destinations'],
  ['delivery/queue', 'due deliveries: claiming them, their leases'],
  ['delivery/flow', 'which deliveries may go now: room, rate, circuits, order'],
  ['delivery/send', 'building, signing and sending requests'],
  ['delivery/model', 'what passes down the line: a claimed delivery, its attempts, error classes'],
  ['audit', 'writing the audit log'],
  ['connectors/types', 'one file per connector type, and the registry'],
  ['connectors/shared', 'what several connector types build on'],
  ['connectors', 'the contract of a connector type'],
  ['events', 'the vocabulary of events: types, fields, samples, versions, filters'],
  ['config', 'environment variables and the configuration they make'],
  ['gateway/chain', 'the networks, the node and the facilitator'],
  ['auth', 'tokens, API keys, who is asking and what they may see (`access.ts`)'],
  ['bus', 'hints between processes'],
  ['limits', 'tiers and rate limits'],
  ['log.ts', 'the logger'],
  ['secrets', 'encryption at rest, key rotation, masking'],
  ['tracing', 'spans; the OpenTelemetry SDK is loaded only when a collector is configured'],
  ['database', 'client, migrations, partitions'],
  ['database/embedded', 'the PostgreSQL that comes with the packages'],
  ['egress', 'the only way out of the process'],
  ['heap-growth.ts', 'how the heap grows'],
  ['operation.ts', 'what a caller waits for, and its deadline'],
  ['request-context.ts', 'what identifies a request'],
  ['retry-after.ts', 'reading `Retry-After`'],
  ['validation.ts', 'checking input'],
  ['money.ts', 'amounts'],
  ['ids.ts', 'ids'],
  ['errors.ts', 'the catalogue of errors'],
  ['clock.ts', 'the time'],
  ['version.ts', 'the version'],
  ['console/main.tsx', 'the web console, a client of the GraphQL API, in the browser'],
  ['console/app.tsx', ''],
  ['console/layout', 'the frame around every page, and signing in'],
  ['console/pages', 'the routes'],
  ['console/pages/overview', 'a page per folder'],
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
  ['console/pages/limits', ''],
  ['console/pages/settings', ''],
  ['console/pages/graphql', ''],
  ['console/pages/rest', ''],
  ['console/pages/projects', ''],
  ['console/parts', 'what pages share'],
  ['console/api', 'calls to the API'],
  ['console/session', 'the signed-in user'],
  ['console/theme.ts', ''],
];

export type Import = { target: string; isType: boolean };
/** A source file. `code` is its text without comments, with its lines in place. */
export type Source = { path: string; text: string; code: string; imports: Import[] };

const IMPORT = /^(?:import|export)\s(type\s)?(?:[^;'"]*?\sfrom\s)?['"]([^'"]+)['"]/gms;
const DYNAMIC_IMPORT = /\bimport\(\s*['"]([^'"]+)['"]/g;

/** Good enough for code that is formatted. */
function withoutComments(text: string): string {
  return text.replace(/\/\*.*?\*\//gs, (comment) => comment.replace(/[^\n]/g, '')).replace(/(^|\s)\/\/.*$/gm, '$1');
}

/** Reads the imports of a file; `path` is relative to the root of the repository. */
export function parseSource(path: string, text: string): Source {
  const code = withoutComments(text);
  const name = (specifier: string) =>
    specifier.startsWith('.') ? relative(ROOT, resolve(ROOT, dirname(path), specifier)) : specifier;
  const imports = [
    ...[...code.matchAll(IMPORT)].map(([, type, specifier]) => ({ target: name(specifier!), isType: Boolean(type) })),
    ...[...code.matchAll(DYNAMIC_IMPORT)].map(([, specifier]) => ({ target: name(specifier!), isType: false })),
  ];
  return { path, text, code, imports };
}

/** All files of `src/` that are committed. */
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
 * What is wrong with the imports, a sentence each: upward imports, files in no listed folder, folders without files, and
 * files that import each other. Type imports count like others.
 */
export function findProblems(sources: readonly Source[]): string[] {
  return [...findUnlisted(sources), ...findUpward(sources), ...findCycles(sources)];
}

function findUnlisted(sources: readonly Source[]): string[] {
  const used = new Set(sources.map(({ path }) => folderOf(path)));
  return [
    ...sources.filter(({ path }) => !folderOf(path)).map(({ path }) => `${path} is in no folder of scripts/folders.ts`),
    ...FOLDERS.filter(([folder]) => !used.has(folder)).map(([folder]) => `${folder} is listed, but has no files`),
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
      .map(({ target, isType }) => `${path} imports ${isType ? 'a type of ' : ''}${target}, which is above it`);
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
