import type { EgressAllow } from '../../egress/allow-list.ts';
import { checkTargetUrl } from '../../egress/url.ts';
import { type AppError, invalidField } from '../../errors.ts';
import type { InputPart } from '../endpoints/discovery.ts';
import { METHODS } from '../endpoints/methods.ts';
import { refusalOf } from '../urls/refusal.ts';
import { type ApiDocument, type ApiOperation, LIMITS } from './openapi/document.ts';

/** An endpoint that a document suggests: some or all operations on a path. */
export type Proposal = {
  path: string;
  /** In uppercase, in the order of `METHODS`. */
  methods: string[];
  upstreamUrl: string;
  description: string | null;
  mimeType: string | null;
  inputSchema: ApiOperation['inputSchema'];
  exampleResponse: ApiOperation['exampleResponse'];
  tags: string[];
  problems: string[];
};

/** Combines operations on the same path into the endpoint that serves them. */
export function proposalOf(operations: readonly ApiOperation[], baseOf: (server: string | null) => string): Proposal {
  const [{ path, server }] = operations as readonly [ApiOperation, ...ApiOperation[]];
  const methods = new Set(operations.map(({ method }) => method));
  return {
    path,
    methods: METHODS.filter((method) => methods.has(method)),
    upstreamUrl: joinUrl(baseOf(server), path),
    description: descriptionOf(operations),
    mimeType: firstOf(operations, 'mimeType'),
    inputSchema: inputSchemaOf(operations),
    exampleResponse: firstOf(operations, 'exampleResponse'),
    tags: [...new Set(operations.flatMap(({ tags }) => tags))].slice(0, LIMITS.tags),
    problems: operations.flatMap(({ problems }) => problems),
  };
}

/**
 * The first schema of each part. Headers and the path are left out if there would be too much in total, because the
 * query and the body matter more to buyers.
 */
function inputSchemaOf(operations: readonly ApiOperation[]): ApiOperation['inputSchema'] {
  const part = (name: InputPart) => {
    const schema = operations.find(({ inputSchema }) => inputSchema?.[name])?.inputSchema?.[name];
    return schema === undefined ? {} : { [name]: schema };
  };
  const essential = { ...part('query'), ...part('body') };
  const all = { ...part('query'), ...part('path'), ...part('headers'), ...part('body') };
  const inputSchema = fits(all) ? all : essential;
  return Object.keys(inputSchema).length > 0 ? inputSchema : null;
}

/** Whether an endpoint can have this schema. */
function fits(schema: object): boolean {
  let values = 0;
  const text = JSON.stringify(schema, (_name, value: unknown) => {
    values++;
    return value;
  });
  return values <= LIMITS.valueNodes && Buffer.byteLength(text) <= LIMITS.valueBytes;
}

function firstOf<Name extends keyof ApiOperation>(operations: readonly ApiOperation[], name: Name) {
  return operations.find((operation) => operation[name] !== null)?.[name] ?? null;
}

/** The operation's own description, or else the path's, or else one line for each operation. */
function descriptionOf(operations: readonly ApiOperation[]): string | null {
  const [{ pathDescription }] = operations as readonly [ApiOperation, ...ApiOperation[]];
  const described = operations.filter(({ description }) => description !== null);
  if (operations.length === 1) return described[0]?.description ?? pathDescription;
  if (pathDescription !== null || described.length === 0) return pathDescription;
  const lines = described.map(({ method, description }) => `${method}: ${description!.split('\n', 1)[0]}`);
  const text = lines.join('\n');
  return text.length <= LIMITS.descriptionLength ? text : `${text.slice(0, LIMITS.descriptionLength - 1).trimEnd()}…`;
}

/** The URL of a path under a base URL. The base URL may have a query. */
function joinUrl(base: string, path: string): string {
  const [address, ...query] = base.split('?');
  const joined = `${address!.replace(/\/+$/, '')}${path === '/' ? '' : path}`;
  return [joined, ...query].join('?');
}

/**
 * Finds the base URL for a document's upstreams: the one given, or else the document's first server. Servers may be
 * relative to the URL that the document came from.
 *
 * @returns a function that returns the base URL for a path's own server, or the default if the path has none
 * @throws AppError `VALIDATION_FAILED` for `/upstreamUrl`
 */
export function chooseBase(
  { servers }: ApiDocument,
  options: { upstreamUrl?: string | null | undefined; documentUrl?: string | undefined; allow: EgressAllow },
): (server: string | null) => string {
  const { upstreamUrl, documentUrl, allow } = options;
  if (upstreamUrl) return () => upstreamUrl;
  const bases = new Map<string, string>();

  function check(server: string): string {
    const url = URL.parse(server, documentUrl)?.href.replace(/#.*$/, '');
    if (url === undefined) {
      throw missing('The document’s server has no host. Enter the URL of your API.');
    }
    const checked = checkTargetUrl(url, allow);
    if (!checked.ok)
      throw missing(
        `The document’s server can’t be used. Enter the URL of your API. ${refusalOf(checked, 'UPSTREAM_ALLOW')}`,
      );
    if (/%7B|[{}]/i.test(url))
      throw missing('The document’s server has a variable without a default. Enter the URL of your API.');
    return url;
  }

  return (own) => {
    const server = own ?? servers[0];
    if (server === undefined) throw missing('The document doesn’t list a server. Enter the URL of your API.');
    const base = bases.get(server) ?? check(server);
    bases.set(server, base);
    return base;
  };
}

function missing(message: string): AppError {
  return invalidField('/upstreamUrl', message);
}
