import { once } from 'node:events';
import pg from 'pg';
import pino from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { IdentifyAgain, Viewer } from '../../../src/auth/viewer.ts';
import { parseProjectAllow } from '../../../src/config/project-allow.ts';
import { openDatabase } from '../../../src/database/client.ts';
import { behindWall } from '../../../src/database/tenant-client.ts';
import { parseEgressAllow } from '../../../src/egress/allow-list.ts';
import { AppError } from '../../../src/errors.ts';
import { createEndpointService } from '../../../src/features/endpoints/service.ts';
import { createEventService } from '../../../src/features/events/service.ts';
import { readOpenApi } from '../../../src/features/imports/openapi/read.ts';
import type { ReadDocument } from '../../../src/features/imports/openapi/read-document.ts';
import { createImportService, type ImportService } from '../../../src/features/imports/service.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { createEndpoint, createKey, createProject, EVERY_SCOPE, type Resource } from '../../support/resources.ts';
import { apiWith, getting, PETS_30 } from './documents.ts';

type Item = { status: string; path: string; [field: string]: unknown };
type Preview = { title: string; servers: string[]; items: Item[]; problems: { pointer: string; message: string }[] };
type Result = {
  status: string;
  path: string;
  endpointId: string | null;
  error: { code: string; message: string } | null;
};
type Problem = { code: string; errors: { pointer: string; message: string }[] };

let app: TestApp;
let alice: TestUser;
let base: string;

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api' } });
  alice = await app.user('alice', 'ENTERPRISE');
});
afterAll(() => app?.stop());
beforeEach(async () => {
  ({ base } = await createProject(alice));
});

async function preview(body: object, caller = alice): Promise<Preview> {
  const answer = await caller.rest<Preview>('POST', `${base}/endpoints/import/preview`, body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body;
}

async function importing(body: object, caller = alice): Promise<Result[]> {
  const answer = await caller.rest<{ results: Result[] }>('POST', `${base}/endpoints/import`, body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body.results;
}

/** Runs a separate service for Alice's project. `read` gets the endpoints that each statement of the service reads. */
async function withService(
  options: { readDocument?: ReadDocument; operationMilliseconds?: number; read?: (endpoints: object[]) => void },
  run: (context: { service: ImportService; id: string; viewer: Viewer; again: IdentifyAgain }) => Promise<void>,
): Promise<void> {
  const { readDocument = async (text) => readOpenApi(text), operationMilliseconds = 60_000, read = () => {} } = options;
  const db = await openDatabase({ url: app.databaseUrl, poolSize: 2, log: pino({ level: 'silent' }) });
  try {
    const prisma = db.prisma.$extends({
      query: {
        endpoint: {
          async findMany({ args, query }) {
            const rows = await query(args);
            read(rows);
            return rows;
          },
        },
      },
    });
    const tenantDb = behindWall({ ...db, prisma: prisma as never });
    const bus = { publish: () => {}, publishHereFirst: () => {} } as never;
    const egressAllow = parseEgressAllow('');
    const upstreamAllow = parseProjectAllow('', egressAllow);
    const events = createEventService({ db: tenantDb, bus });
    const service = createImportService({
      db: tenantDb,
      egress: {} as never,
      egressAllow,
      upstreamAllow,
      readDocument,
      operationMilliseconds,
      endpoints: createEndpointService({ db: tenantDb, bus, events, egressAllow, secretBox: {} as never }),
    });
    const id = base.split('/').at(-1)!;
    const { userId } = await db.prisma.project.findUniqueOrThrow({ where: { id } });
    const times = { requestsPerMinute: null, expiresAt: new Date(Date.now() + 3_600_000) };
    const viewer: Viewer = { kind: 'user', userId, tier: 'PRO', ...times };
    await run({ service, id, viewer, again: async () => viewer });
  } finally {
    await db.close();
  }
}

/** Retries while the service is too busy to read the document in time. */
async function importingUntilServed(body: object): Promise<Result[]> {
  const send = () => alice.rest<{ results: Result[] }>('POST', `${base}/endpoints/import`, body);
  let answer = await send();
  while (answer.status === 503) answer = await send();
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body.results;
}

async function refused(path: string, body: object): Promise<{ status: number; body: Problem }> {
  const { status, body: problem } = await alice.rest<Problem>('POST', `${base}/endpoints/import${path}`, body);
  return { status, body: problem };
}

const listed = async (what: string) =>
  (await alice.rest<{ data: Resource[] }>('GET', `${base}/${what}?limit=100`)).body.data;
const endpoints = async () => (await listed('endpoints')).reverse();
const statusesOf = (items: readonly { status: string; path: string }[]) =>
  items.map(({ status, path }) => `${status} ${path}`);

describe('a preview', () => {
  test('lists the paths of a document with their methods, descriptions, upstreams, and prices, and creates nothing', async () => {
    const { title, servers, items, problems } = await preview({ document: PETS_30, priceUsd: '0.02' });
    expect({ title, servers, problems }).toEqual({
      title: 'Pets',
      servers: ['https://eu.pets.example.com/v1/'],
      problems: [],
    });
    const isNew = { status: 'NEW', priceUsd: '0.02', endpointId: null, changes: [], problems: [] };
    expect(items).toEqual([
      {
        path: '/pets',
        methods: ['GET', 'POST'],
        description: 'GET: List pets\nPOST: Add a pet',
        ...isNew,
        upstreamUrl: 'https://eu.pets.example.com/v1/pets',
        mimeType: 'application/json',
        tags: ['pets', 'admin'],
      },
      {
        path: '/pets/:pet_id',
        methods: ['GET'],
        description: 'Get a pet.',
        ...isNew,
        upstreamUrl: 'https://eu.pets.example.com/v1/pets/:pet_id',
        mimeType: 'application/json',
        tags: [],
      },
    ]);
    expect(await endpoints()).toEqual([]);
  });

  test('says what is new, changed, the same, and gone', async () => {
    const upstream = (path: string) => `https://api.example.com${path}`;
    await createEndpoint(alice, base, { path: '/gone', upstreamUrl: upstream('/gone') });
    const methods = ['GET'];
    const same = { path: '/same', upstreamUrl: upstream('/same'), description: 'Same', priceUsd: '0.5', methods };
    const { id: sameId } = await createEndpoint(alice, base, same);
    await createEndpoint(alice, base, {
      path: '/undescribed',
      upstreamUrl: upstream('/undescribed'),
      description: 'Mine',
      methods,
    });
    const moved = { path: '/users/:id', upstreamUrl: upstream('/people/:id'), description: 'Old', tags: ['people'] };
    const { id: movedId } = await createEndpoint(alice, base, moved);
    const document = apiWith({
      '/same': getting('Same'),
      '/undescribed': { get: {} },
      '/users/{userId}': getting('New'),
      '/new': getting('New'),
    });
    const { items } = await preview({ document, priceUsd: '0.01' });
    expect(statusesOf(items)).toEqual([
      'SAME /same',
      'SAME /undescribed',
      'CHANGED /users/:userId',
      'NEW /new',
      'GONE /gone',
    ]);
    expect(items[0]).toMatchObject({ endpointId: sameId, priceUsd: '0.5', changes: [] });
    expect(items[2]).toMatchObject({
      endpointId: movedId,
      changes: [
        { field: 'path', before: '/users/:id', after: '/users/:userId' },
        { field: 'description', before: 'Old', after: 'New' },
        { field: 'upstreamUrl', before: upstream('/people/:id'), after: upstream('/users/:userId') },
        { field: 'methods', before: ['GET', 'HEAD', 'POST'], after: ['GET'] },
      ],
    });
  });

  test('keeps the query of an upstream URL', async () => {
    const upstreamUrl = 'https://api.example.com/v1/a?key=very-secret-value-of-mine';
    await createEndpoint(alice, base, { path: '/a', upstreamUrl, methods: ['GET'] });
    const document = apiWith({ '/a': { get: {} } });
    const same = { document, upstreamUrl: 'https://api.example.com/v1' };
    expect(statusesOf((await preview(same)).items)).toEqual(['SAME /a']);
    const described = { ...same, document: apiWith({ '/a': getting('A') }), items: [{ path: '/a' }] };
    expect(statusesOf(await importing(described))).toEqual(['UPDATED /a']);
    expect(await endpoints()).toMatchObject([{ upstreamUrl, description: 'A' }]);
  });

  test.each([
    ['host', 'https://elsewhere.example.com/v1'],
    ['path', 'https://api.example.com/v2'],
  ])('doesn’t send the query of an upstream URL, which may be secret, to any other %s', async (_part, server) => {
    const upstreamUrl = 'https://api.example.com/v1/a?key=very-secret-value-of-mine';
    await createEndpoint(alice, base, { path: '/a', methods: ['GET'], upstreamUrl });
    const key = app.caller((await createKey(alice, base, EVERY_SCOPE)).key);
    const document = apiWith({ '/a': { servers: [{ url: server }], get: {} } });
    const seen = await preview({ document }, key);
    expect(seen.items[0]).toMatchObject({ status: 'CHANGED', changes: [{ field: 'upstreamUrl' }] });
    expect(seen.items[0]!.problems).toEqual([expect.stringContaining('may be secret')]);
    expect(JSON.stringify(seen)).not.toContain('very-secret');
    for (const caller of [key, alice]) {
      const [result] = await importing({ document, items: [{ path: '/a' }] }, caller);
      expect(result).toMatchObject({ status: 'FAILED', error: { code: 'VALIDATION_FAILED' } });
    }
    expect(await endpoints()).toMatchObject([{ upstreamUrl }]);
    // If the caller passes a query, it replaces the one in the URL.
    const own = {
      document: apiWith({ '/a': { get: {} } }),
      upstreamUrl: `${server}?key=mine`,
      items: [{ path: '/a' }],
    };
    expect(statusesOf(await importing(own, key))).toEqual(['UPDATED /a']);
    expect(await endpoints()).toMatchObject([{ upstreamUrl: `${server}/a?key=mine` }]);
  });

  test('appends the paths to the given upstream URL, even if it has a query', async () => {
    const document = apiWith({ '/': getting('Root'), '/a': getting('A') });
    const { items } = await preview({ document, upstreamUrl: 'https://other.example.com/base/?v=1' });
    expect(items.map(({ upstreamUrl }) => upstreamUrl)).toEqual([
      'https://other.example.com/base?v=1',
      'https://other.example.com/base/a?v=1',
    ]);
  });

  test('uses a path’s own server', async () => {
    const document = apiWith({ '/a': { servers: [{ url: 'https://a.example.com/x' }], get: {} }, '/b': { get: {} } });
    const { items } = await preview({ document });
    expect(items.map(({ upstreamUrl }) => upstreamUrl)).toEqual([
      'https://a.example.com/x/a',
      'https://api.example.com/b',
    ]);
  });

  test('reads schemas and examples only from the endpoints at the document’s paths', async () => {
    const schema = { inputSchema: { query: { type: 'object' } }, exampleResponse: { ok: true } };
    const methods = ['GET'];
    for (const path of ['/gone', '/a/:id'])
      await createEndpoint(alice, base, { path, methods, ...schema, upstreamUrl: `https://api.example.com${path}` });
    const found: object[] = [];
    await withService({ read: (endpoints) => found.push(...endpoints) }, async ({ service, id, viewer, again }) => {
      const { items } = await service.preview(viewer, id, { document: apiWith({ '/a/{id}': { get: {} } }) }, again);
      expect(statusesOf(items)).toEqual(['SAME /a/:id', 'GONE /gone']);
    });
    expect(found.filter((endpoint) => 'inputSchema' in endpoint)).toHaveLength(1);
  });

  test('has the schemas and examples of at most 25 endpoints in memory at the same time', async () => {
    const paths = Array.from({ length: 60 }, (_, index) => `/p${index}`);
    const document = apiWith(Object.fromEntries(paths.map((path) => [path, getting('P')])));
    const items = paths.map((path) => ({ path }));
    const together: number[] = [];
    const read = (endpoints: object[]) =>
      together.push(endpoints.filter((endpoint) => 'exampleResponse' in endpoint).length);
    await withService({ read }, async ({ service, id, viewer, again }) => {
      await service.import(viewer, id, { document, priceUsd: '1', items }, again);
      together.length = 0;
      await service.preview(viewer, id, { document }, again);
      expect(together).toEqual([0, 25, 25, 10]);
      together.length = 0;
      const results = await service.import(viewer, id, { document, items }, again);
      expect(new Set(results.map(({ status }) => status))).toEqual(new Set(['SAME']));
      expect(together).toEqual([0, 25, 25, 10]);
    });
  });

  test('has at most 2 MB of current schemas and examples, and says which ones are left out', async () => {
    const paths = Array.from({ length: 80 }, (_, index) => `/p${index}`);
    const example = (value: unknown) => ({ content: { 'application/json': { example: value } } });
    const operation = { get: { summary: 'P', responses: { 200: example('new') } } };
    const document = apiWith(Object.fromEntries(paths.map((path) => [path, operation])));
    await importing({ document, priceUsd: '0.1', items: paths.map((path) => ({ path })) });
    const database = new pg.Client({ connectionString: app.databaseUrl });
    await database.connect();
    await database.query(`UPDATE "Endpoint" SET "exampleResponse" = to_jsonb(repeat('x', 32000))`);
    await database.end();
    const { items } = await preview({ document });
    expect(items.filter(({ status }) => status === 'CHANGED')).toHaveLength(80);
    const [whole, cut] = [items.slice(0, 65), items.slice(65)];
    const changeTo = (before: string | null) => [{ field: 'exampleResponse', before, after: 'new' }];
    for (const item of whole) expect(item).toMatchObject({ changes: changeTo('x'.repeat(32_000)), problems: [] });
    for (const item of cut) {
      const problems = [expect.stringContaining('current `exampleResponse` isn’t shown')];
      expect(item).toMatchObject({ changes: changeTo(null), problems });
    }
  });

  test('splits a path between the endpoints that serve its methods', async () => {
    const { id } = await createEndpoint(alice, base, { path: '/pets' });
    const database = new pg.Client({ connectionString: app.databaseUrl });
    await database.connect();
    await database.query(`UPDATE "Endpoint" SET "methods" = '{GET}' WHERE "id" = $1`, [id]);
    await database.end();
    const { items } = await preview({ document: PETS_30 });
    expect(items.map(({ path, methods, endpointId }) => ({ path, methods, endpointId }))).toEqual([
      { path: '/pets', methods: ['GET'], endpointId: id },
      { path: '/pets', methods: ['POST'], endpointId: null },
      { path: '/pets/:pet_id', methods: ['GET'], endpointId: null },
    ]);
  });
});

describe('a document or its server is rejected with the field', () => {
  const server = (url: string) => apiWith({ '/a': getting('A') }, { servers: [{ url }] });
  test.each([
    ['no document', {}, '/document', 'Required unless you send a URL.'],
    ['both', { document: PETS_30, url: 'https://a.example.com' }, '/url', 'Send either a document or a URL, not both.'],
    ['another format', { document: 'hello' }, '/document', 'Must be an OpenAPI document in JSON or YAML.'],
    ['nothing to import', { document: apiWith({}) }, '/document', 'Nothing in the document can be imported.'],
    [
      'no server',
      { document: apiWith({ '/a': getting('A') }, { servers: [] }) },
      '/upstreamUrl',
      'doesn’t list a server',
    ],
    ['a relative server', { document: server('/v1') }, '/upstreamUrl', 'has no host'],
    ['a private server', { document: server('https://10.0.0.1/') }, '/upstreamUrl', 'must be public'],
    [
      'an open variable',
      { document: server('https://{x}.example.com/') },
      '/upstreamUrl',
      'variable without a default',
    ],
    ['a bad upstream URL', { document: PETS_30, upstreamUrl: 'ftp://a' }, '/upstreamUrl', 'Enter an absolute URL'],
    ['a bad price', { document: PETS_30, priceUsd: 'free' }, '/priceUsd', 'Must be a decimal string'],
    ['an unknown field', { document: PETS_30, page: 1 }, '/page', 'Unknown field.'],
  ])('%s', async (_what, body, pointer, message) => {
    const errors = [{ pointer, message: expect.stringContaining(message) }];
    expect(await refused('/preview', body)).toMatchObject({ status: 422, body: { code: 'VALIDATION_FAILED', errors } });
  });

  test.each([
    ['no items', [], '/items', 'Must have at least 1 entry.'],
    ['too many items', Array.from({ length: 201 }, () => ({ path: '/a' })), '/items', 'Must have at most 200 entries.'],
    ['an item without a path', [{}], '/items/0/path', 'Required.'],
  ])('%s', async (_what, items, pointer, message) => {
    const answer = await refused('', { document: PETS_30, items });
    expect(answer).toMatchObject({ status: 422, body: { errors: [{ pointer, message }] } });
  });
});

describe('an import', () => {
  const document = apiWith({ '/a/{id}': getting('A'), '/b': getting('B'), '/c': getting('C') });

  test('creates the chosen endpoints with events and audit log entries, and nothing when it is repeated', async () => {
    const items = [{ path: '/a/:id', methods: ['get'], priceUsd: '0.25' }, { path: '/b' }];
    const results = await importing({ document, priceUsd: '0.01', items });
    expect(statusesOf(results)).toEqual(['CREATED /a/:id', 'CREATED /b']);
    const created = await endpoints();
    expect(created).toMatchObject([
      { path: '/a/:id', priceUsd: '0.25', description: 'A', upstreamUrl: 'https://api.example.com/a/:id' },
      { path: '/b', priceUsd: '0.01', description: 'B', upstreamUrl: 'https://api.example.com/b' },
    ]);
    expect(results.map(({ endpointId }) => endpointId)).toEqual(created.map(({ id }) => id));
    const history = async () => ({
      events: (await listed('events')).map(({ type }) => type),
      audited: (await listed('audit-log')).map(({ action }) => action),
    });
    const after = {
      events: ['endpoint.created', 'endpoint.created'],
      audited: ['endpoint.created', 'endpoint.created', 'project.created'],
    };
    expect(await history()).toEqual(after);

    // A second import changes nothing, even if its prices differ.
    const again = await importing({
      document,
      priceUsd: '9',
      items: items.map(({ path }) => ({ path, priceUsd: '9' })),
    });
    expect(statusesOf(again)).toEqual(['SAME /a/:id', 'SAME /b']);
    expect(await endpoints()).toEqual(created);
    expect(await history()).toEqual(after);
    expect(statusesOf((await preview({ document })).items)).toEqual(['SAME /a/:id', 'SAME /b', 'NEW /c']);
  });

  test('updates what changed, and the price only if the item has one', async () => {
    const upstreamUrl = 'https://api.example.com/b';
    await createEndpoint(alice, base, { path: '/b', upstreamUrl, description: 'Old', priceUsd: '0.5' });
    await createEndpoint(alice, base, { path: '/c', upstreamUrl: 'https://old.example.com', priceUsd: '0.5' });
    const items = [{ path: '/b' }, { path: '/c', priceUsd: '0.75' }];
    expect(statusesOf(await importing({ document, priceUsd: '0.01', items }))).toEqual(['UPDATED /b', 'UPDATED /c']);
    expect(await endpoints()).toMatchObject([
      { path: '/b', priceUsd: '0.5', description: 'B' },
      { path: '/c', priceUsd: '0.75', description: 'C', upstreamUrl: 'https://api.example.com/c' },
    ]);
    const types = (await listed('events')).map(({ type }) => type);
    expect(types.filter((type) => type === 'endpoint.pricing_changed')).toHaveLength(1);
  });

  test('reports each failure and imports the rest', async () => {
    const items = [
      { path: '/a/:id', priceUsd: '-1' },
      { path: '/missing', priceUsd: '1' },
      { path: '/b', methods: ['POST'], priceUsd: '1' },
      { path: 'not a path' },
      { path: '/c', priceUsd: '1' },
      { path: '/c', priceUsd: '2' },
      { path: '/b' },
    ];
    const results = await importing({ document, items });
    expect(results.map(({ status, error }) => [status, error?.code, error?.message])).toEqual([
      ['FAILED', 'VALIDATION_FAILED', expect.stringContaining('Invalid priceUsd: must be a decimal string')],
      [
        'FAILED',
        'VALIDATION_FAILED',
        expect.stringContaining('the document doesn’t contain this path with these methods'),
      ],
      [
        'FAILED',
        'VALIDATION_FAILED',
        expect.stringContaining('the document doesn’t contain this path with these methods'),
      ],
      [
        'FAILED',
        'VALIDATION_FAILED',
        expect.stringContaining('the document doesn’t contain this path with these methods'),
      ],
      ['CREATED', undefined, undefined],
      ['FAILED', 'VALIDATION_FAILED', expect.stringContaining('or you sent the same item twice')],
      ['FAILED', 'VALIDATION_FAILED', 'Invalid priceUsd: required for a new endpoint.'],
    ]);
    expect((await endpoints()).map(({ path }) => path)).toEqual(['/c']);
  });

  test('is possible with an API key, but not into another project', async () => {
    const { key } = await createKey(alice, base);
    const items = [{ path: '/b', priceUsd: '1' }];
    expect(statusesOf(await importing({ document, items }, app.caller(key)))).toEqual(['CREATED /b']);
    const other = await createProject(alice);
    const answer = await app.caller(key).rest('POST', `${other.base}/endpoints/import`, { document, items });
    expect(answer).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
  });

  test('creates each endpoint once, even if the same document is imported twice at the same time', async () => {
    const items = [{ path: '/b', priceUsd: '1' }];
    const all = (await Promise.all([1, 2, 3, 4].map(() => importingUntilServed({ document, items })))).flat();
    expect(all.filter(({ status }) => status === 'CREATED')).toHaveLength(1);
    const codes = all.flatMap(({ error }) => error?.code ?? []);
    // On a busy machine, an import can run out of time before its item.
    for (const code of codes) expect(['CONFLICT', 'UNAVAILABLE']).toContain(code);
    expect(await endpoints()).toHaveLength(1);
  });

  test('writes at least one new or changed item if it takes too long, and leaves the rest for the next import', async () => {
    const readDocument: ReadDocument = async (text, { signal }) => {
      if (!signal.aborted) await once(signal, 'abort');
      return readOpenApi(text);
    };
    await withService({ readDocument, operationMilliseconds: 1 }, async ({ service, id, viewer, again }) => {
      const items = [{ path: '/b' }, { path: '/c' }];
      const statuses = async () =>
        statusesOf(await service.import(viewer, id, { document, priceUsd: '1', items }, again));
      expect(await statuses()).toEqual(['CREATED /b', 'FAILED /c']);
      expect(await statuses()).toEqual(['SAME /b', 'CREATED /c']);
      expect(await statuses()).toEqual(['SAME /b', 'SAME /c']);
    });
  });

  test('changes nothing more once its credential is revoked, and doesn’t try the credential again for each item', async () => {
    await withService({}, async ({ service, id, viewer }) => {
      const identified: string[] = [];
      const again = async () => {
        identified.push('again');
        // For the document, and for the first item.
        if (identified.length <= 2) return viewer;
        throw new AppError('UNAUTHENTICATED');
      };
      const items = ['/a', '/b', '/c', '/d'].map((path) => ({ path }));
      const several = apiWith(Object.fromEntries(items.map(({ path }) => [path, getting('P')])));
      const results = await service.import(viewer, id, { document: several, priceUsd: '1', items }, again);
      expect(results.map(({ status, error }) => error?.code ?? status)).toEqual([
        'CREATED',
        ...Array(3).fill('UNAUTHENTICATED'),
      ]);
      expect(identified).toHaveLength(3);
    });
    expect((await endpoints()).map(({ path }) => path)).toEqual(['/a']);
  });

  test('can be repeated until all 200 endpoints are created', async () => {
    const paths = Array.from({ length: 200 }, (_, index) => `/p${index}`);
    const large = apiWith(Object.fromEntries(paths.map((path) => [path, getting('P')])));
    const items = paths.map((path) => ({ path }));
    // On a slow machine, one import may not be enough.
    const missing = async () => {
      const results = await importing({ document: large, priceUsd: '1', items });
      const failed = results.filter(({ status }) => status === 'FAILED');
      expect(failed.map(({ error }) => error!.code).filter((code) => code !== 'UNAVAILABLE')).toEqual([]);
      return failed.length;
    };
    await expect.poll(missing).toBe(0);
    expect((await preview({ document: large })).items.filter(({ status }) => status === 'SAME')).toHaveLength(200);
  });
});

describe('an import counts as one request for each endpoint', () => {
  const document = apiWith({ '/a': getting('A') });
  const items = Array.from({ length: 30 }, () => ({ path: '/missing' }));
  const MUTATION = 'mutation ($input: ImportEndpointsInput!) { importEndpoints(input: $input) { results { status } } }';
  const remainingOf = (headers: Headers) => Number(/r=(\d+)/.exec(headers.get('ratelimit')!)![1]);

  test('over REST', async () => {
    const user = await app.user('counted', 'STARTER');
    const project = await createProject(user);
    const first = await user.rest('POST', `${project.base}/endpoints/import`, { document, items });
    expect(first.status).toBe(200);
    expect(remainingOf(first.headers)).toBeLessThan(55);
    const second = await user.rest<Problem>('POST', `${project.base}/endpoints/import`, {
      document,
      items: [...items, ...items],
    });
    expect(second).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED' } });
    expect(Number(second.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  test('over GraphQL, including with inline values and the default values of variables', async () => {
    /** How many requests a new account has left after an import of 30 endpoints. If none counted: almost 60. */
    const remaining = async (
      subject: string,
      request: (projectId: string) => { query: string; variables?: object },
    ) => {
      const user = await app.user(subject, 'STARTER');
      const { id } = await createProject(user);
      const response = await fetch(`${app.url}/graphql`, {
        method: 'POST',
        headers: { authorization: `Bearer ${user.token}`, 'content-type': 'application/json' },
        body: JSON.stringify(request(id)),
      });
      return remainingOf(response.headers);
    };
    const inline = Array.from({ length: 30 }, () => '{ path: "/missing" }').join(' ');
    const importing = (projectId: string, given: string) =>
      `importEndpoints(input: { projectId: "${projectId}", document: "x", items: ${given} }) { results { status } }`;

    const withVariables = await remaining('counted-variables', (projectId) => ({
      query: MUTATION,
      variables: { input: { projectId, document, items } },
    }));
    expect(withVariables).toBeLessThan(55);
    const withInlineValues = await remaining('counted-inline', (projectId) => ({
      query: `mutation { ${importing(projectId, `[${inline}]`)} }`,
    }));
    expect(withInlineValues).toBeLessThan(55);
    const withDefaults = await remaining('counted-defaults', (projectId) => ({
      query: `mutation ($items: [ImportItemInput!]! = [${inline}]) { ${importing(projectId, '$items')} }`,
    }));
    expect(withDefaults).toBeLessThan(55);
  });
});

describe('a document that is larger than other request bodies', () => {
  const large = apiWith({ '/a': getting('A') }, { info: { title: 'x'.repeat(1_000_000) } });

  test('is accepted over REST and GraphQL', async () => {
    expect(statusesOf((await preview({ document: large })).items)).toEqual(['NEW /a']);
    const query = 'mutation ($input: PreviewImportInput!) { previewImport(input: $input) { items { path } } }';
    const projectId = base.split('/').at(-1);
    const answer = await alice.graphql(query, { input: { projectId, document: large } });
    expect(answer).toMatchObject({ data: { previewImport: { items: [{ path: '/a' }] } } });
  });

  test('is rejected if it is larger than 5 MB', async () => {
    const document = apiWith({}, { info: { title: 'x'.repeat(5 * 1024 * 1024) } });
    const errors = [{ pointer: '/document', message: 'Must be at most 5 MB.' }];
    expect(await refused('/preview', { document })).toMatchObject({ status: 422, body: { errors } });
    const answer = await refused('/preview', { document: 'x'.repeat(9_000_000) });
    expect(answer).toMatchObject({ status: 413, body: { code: 'PAYLOAD_TOO_LARGE' } });
  });

  test('doesn’t allow anything else to be large', async () => {
    const answer = await refused('/preview', { document: large, upstreamUrl: 'x'.repeat(300_000) });
    expect(answer).toMatchObject({ status: 413, body: { code: 'PAYLOAD_TOO_LARGE' } });
    const response = await alice.graphql('{ viewer { tier } }', { other: 'x'.repeat(300_000) });
    expect(response.errors).toMatchObject([{ extensions: { code: 'PAYLOAD_TOO_LARGE' } }]);
  });
});
