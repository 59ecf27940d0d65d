import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { createEndpoint, createKey, createProject, GOOD, type Resource } from '../../support/resources.ts';

const SCHEMA = { query: { type: 'object', properties: { city: { type: 'string' } } } };
const SHOWN = {
  mimeType: 'application/json',
  inputSchema: SCHEMA,
  exampleResponse: [{ city: 'Bern' }, null, 1.5],
  tags: ['weather', 'Switzerland'],
};
const NOTHING = { mimeType: null, inputSchema: null, exampleResponse: null, tags: [] };

let app: TestApp;
let alice: TestUser;
let projectId: string;
let base: string;

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api' } });
  alice = await app.user('alice');
  ({ id: projectId, base } = await createProject(alice));
});
afterAll(() => app?.stop());

const patch = (id: string, body: object) => alice.rest<Resource>('PATCH', `${base}/endpoints/${id}`, body);

type Change = { changes: Record<string, unknown>; previous: Record<string, unknown> | null };

/** The last changes in the audit log, newest first. */
async function audited(count: number): Promise<Change[]> {
  const { data } = await alice.graphql<{ project: { auditLog: { nodes: Change[] } } }>(
    'query ($id: ID!, $n: Int!) { project(id: $id) { auditLog(first: $n) { nodes { changes previous } } } }',
    { id: projectId, n: count },
  );
  return data!.project.auditLog.nodes;
}

describe('what buyers are shown about an endpoint', () => {
  test('is empty by default, can be set at creation, is kept in other changes, and is removed by null', async () => {
    expect(await createEndpoint(alice, base)).toMatchObject(NOTHING);
    const { id } = await createEndpoint(alice, base, SHOWN);
    expect((await patch(id, { priceUsd: '0.02' })).body).toMatchObject(SHOWN);
    expect((await alice.rest('GET', `${base}/endpoints/${id}`)).body).toMatchObject(SHOWN);
    expect((await patch(id, { exampleResponse: 'sunny', tags: ['a'] })).body).toMatchObject({
      ...SHOWN,
      exampleResponse: 'sunny',
      tags: ['a'],
    });
    const removed = { mimeType: null, inputSchema: null, exampleResponse: null, tags: null };
    expect((await patch(id, removed)).body).toMatchObject(NOTHING);
    expect((await createEndpoint(alice, base, removed)) as object).toMatchObject(NOTHING);
  });

  test('can still be read with more than 2,000 values from an earlier version, and other fields can be changed', async () => {
    const { id } = await createEndpoint(alice, base);
    const exampleResponse = Array.from({ length: 3_000 }, () => ({}));
    const database = new pg.Client({ connectionString: app.databaseUrl });
    await database.connect();
    const values = [id, JSON.stringify(exampleResponse)];
    await database.query(`UPDATE "Endpoint" SET "exampleResponse" = $2::jsonb WHERE "id" = $1`, values);
    await database.end();
    expect((await alice.rest('GET', `${base}/endpoints/${id}`)).body).toMatchObject({ exampleResponse });
    expect(await patch(id, { priceUsd: '0.03' })).toMatchObject({ status: 200, body: { exampleResponse } });
    expect(await patch(id, { exampleResponse })).toMatchObject({ status: 422 });
  });

  test('is the same in GraphQL, where JSON can be written in the document', async () => {
    const { data } = await alice.graphql<{ createEndpoint: { endpoint: object } }>(
      `mutation ($projectId: ID!) {
        createEndpoint(input: {
          projectId: $projectId, path: "/graphql", upstreamUrl: "https://api.example.com", priceUsd: "0.01"
          inputSchema: { body: { type: "array", items: { type: "integer", minimum: 1 } } }, exampleResponse: { ok: true }
        }) { endpoint { inputSchema exampleResponse } }
      }`,
      { projectId },
    );
    expect(data!.createEndpoint.endpoint).toEqual({
      inputSchema: { body: { type: 'array', items: { type: 'integer', minimum: 1 } } },
      exampleResponse: { ok: true },
    });
  });

  test.each([
    [{ mimeType: 'json' }, '/mimeType'],
    [{ inputSchema: { query: { type: 'array' } } }, '/inputSchema/query/type'],
    [
      { inputSchema: { body: { type: 'object', properties: { a: { $ref: '#' } } } } },
      '/inputSchema/body/properties/a/$ref',
    ],
    [{ exampleResponse: 'x'.repeat(32_768) }, '/exampleResponse'],
    [{ exampleResponse: { 'a\0b': 1 } }, '/exampleResponse'],
    [{ tags: ['x'.repeat(33)] }, '/tags/0'],
  ])('is rejected as %j, and the error names %s', async (fields, pointer) => {
    const body = { ...GOOD.endpoint, path: '/refused', ...fields };
    const { id } = await createEndpoint(alice, base);
    for (const response of [await alice.rest('POST', `${base}/endpoints`, body), await patch(id, fields)]) {
      expect(response).toMatchObject({ status: 422, body: { code: 'VALIDATION_FAILED', errors: [{ pointer }] } });
    }
  });

  test('is in the audit log, which keeps only the hash of a large value', async () => {
    const { id } = await createEndpoint(alice, base, { exampleResponse: 1, tags: ['a'] });
    await patch(id, { exampleResponse: { text: 'x'.repeat(2_000) }, tags: ['b'] });
    await patch(id, { exampleResponse: { text: 'y'.repeat(2_000) } });
    const hash = { bytes: 2_011, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) };
    const [second, first] = await audited(2);
    expect(first).toEqual({
      changes: { exampleResponse: hash, tags: ['b'] },
      previous: { exampleResponse: 1, tags: ['a'] },
    });
    expect(second).toEqual({ changes: { exampleResponse: hash }, previous: { exampleResponse: hash } });
    expect(second!.changes).not.toEqual(second!.previous);
  });
});

describe('what buyers are shown about a project', () => {
  const SET = {
    description: 'Facts about\nthe weather.',
    iconUrl: 'https://example.com/icon.png',
    contact: 'help@example.com',
  };

  test('is empty by default, and can be set, removed, and changed with an API key', async () => {
    expect(await createProject(alice)).toMatchObject({ description: null, iconUrl: null, contact: null });
    const project = await createProject(alice, SET);
    expect(project).toMatchObject(SET);
    expect((await alice.rest('PATCH', project.base, { name: 'Other' })).body).toMatchObject(SET);
    const removed = { description: null, iconUrl: null, contact: null };
    expect((await alice.rest('PATCH', project.base, removed)).body).toMatchObject(removed);
    const { key } = await createKey(alice, project.base);
    const response = await fetch(app.url + project.base, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ description: 'By a program' }),
    });
    expect(await response.json()).toMatchObject({ description: 'By a program' });
  });

  test('is in the audit log', async () => {
    await alice.rest('PATCH', base, SET);
    expect(await audited(1)).toEqual([{ changes: SET, previous: { description: null, iconUrl: null, contact: null } }]);
  });

  const BAD_CONTACTS = [
    ...[
      '',
      'me',
      'a@b',
      'a@b.example\nBcc: c@d.example',
      'mailto:a@b.example',
      'http://example.com',
      'https://10.0.0.1',
    ],
    ...['javascript:alert(1)', `https://example.com/${'x'.repeat(320)}`],
  ];
  const BAD_ICONS = [
    ...['http://example.com/i.png', 'https://user@example.com/i', 'https://10.0.0.1/i', 'https://[::1]/i', 'data:,x'],
    ...['https://localhost/i', 'https://a.localhost/i', 'https://0x7f000001/i', 'https://icon/i', 'javascript:1', ''],
    `https://example.com/${'x'.repeat(2_048)}`,
  ];
  test.each<[object, string]>([
    [{ description: 'x'.repeat(1_001) }, '/description'],
    [{ description: 'a\0' }, '/description'],
    ...BAD_CONTACTS.map((contact): [object, string] => [{ contact }, '/contact']),
    ...BAD_ICONS.map((iconUrl): [object, string] => [{ iconUrl }, '/iconUrl']),
  ])('is rejected as %j', async (fields, pointer) => {
    const response = await alice.rest('PATCH', base, fields);
    expect(response).toMatchObject({ status: 422, body: { code: 'VALIDATION_FAILED', errors: [{ pointer }] } });
  });
});
