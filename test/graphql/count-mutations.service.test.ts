import { parse } from 'graphql';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mutationsIn } from '../../src/graphql/count-mutations.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { dayLimitOf } from '../support/day-limit.ts';
import { createProject, WALLET } from '../support/resources.ts';
import { connectSocket } from './socket-client.ts';

test.each([
  ['a query', '{ viewer { tier } }', 0],
  ['one mutation', 'mutation { a }', 1],
  ['aliases', 'mutation { one: a two: a a }', 3],
  ['the same mutation twice', 'mutation { a a }', 1],
  [
    'fragments',
    'mutation { ...F ...F ... on Mutation { b } } fragment F on Mutation { c ...G } fragment G on Mutation { d }',
    3,
  ],
  ['fields of a response', 'mutation { a { b c } __typename }', 1],
  ['a mutation that may be skipped', 'mutation { a @skip(if: true) b }', 2],
])('the mutations in a document are counted: %s', (_what, document, count) => {
  expect(mutationsIn(parse(document))).toHaveLength(count);
});

test('only the requested operation is counted', () => {
  const document = parse('mutation One { a } mutation Two { a b }');
  expect(mutationsIn(document, 'One')).toHaveLength(1);
  expect(mutationsIn(document, 'Two')).toHaveLength(2);
});

describe('a document with thirty mutations', () => {
  let app: TestApp;
  let sql: pg.Pool;
  beforeAll(async () => {
    // Limits don't refill during a test.
    app = await startTestApp({ rateLimitNow: () => 0 });
    sql = new pg.Pool({ connectionString: app.databaseUrl });
  });
  afterAll(async () => {
    await sql?.end();
    await app?.stop();
  });

  const field = (index: number) =>
    `p${index}: createProject(input: { name: "P${index}", walletAddress: "${WALLET}" }) { project { id } }`;
  const THIRTY = `mutation { ${Array.from({ length: 30 }, (_, index) => field(index)).join('\n')} }`;

  const post = (token: string, query: string) =>
    fetch(`${app.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({ query }),
    });
  const countOf = async (token: string) => {
    const response = await post(token, '{ projects(first: 100) { nodes { id } } }');
    const { data } = (await response.json()) as { data: { projects: { nodes: unknown[] } } };
    return data.projects.nodes.length;
  };
  const agreed = (subject: string, requestsPerMinute: number) =>
    app.issuer.sign({ subject, tier: 'ENTERPRISE', requestsPerMinute });

  test('counts as thirty requests', async () => {
    const token = await agreed('thirty', 40);
    const response = await post(token, THIRTY);
    expect(response.status).toBe(200);
    expect(await countOf(token)).toBe(30);
    expect(response.headers.get('ratelimit-policy')).toBe('"default";q=40;w=60');
    expect(response.headers.get('ratelimit')).toMatch(/^"default";r=10;/);
  });

  test('is rejected as a whole if it exceeds the remaining limit', async () => {
    const token = await agreed('refused', 31);
    for (let count = 0; count < 20; count++) expect((await post(token, '{ viewer { tier } }')).status).toBe(200);
    const response = await post(token, THIRTY);
    expect(response.status).toBe(429);
    const body = (await response.json()) as { errors: { extensions: unknown }[]; data?: unknown };
    expect(body.errors).toMatchObject([{ extensions: { code: 'RATE_LIMITED', retryable: true } }]);
    expect(body.data).toBeUndefined();
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(10);
    expect(response.headers.get('ratelimit')).toMatch(/^"default";r=\d+;t=\d+$/);
    expect(await countOf(token)).toBe(0);
  });

  test('is allowed if the whole limit is left, even if the limit is less than thirty', async () => {
    const token = await agreed('few', 5);
    expect((await post(token, THIRTY)).status).toBe(200);
    expect((await post(token, '{ viewer { tier } }')).status).toBe(429);
  });

  describe('and more than the whole limit', () => {
    const beyond = async (subject: string) => {
      const owner = await app.user(subject, 'ENTERPRISE');
      const project = await createProject(owner);
      const perDay = dayLimitOf(sql, project.id, { name: 'beyond-the-limit', perDay: 10_000 });
      const countProjects = async () => {
        const counted = `SELECT FROM "Project" WHERE "userId" = (SELECT "userId" FROM "Project" WHERE "id" = $1)`;
        return (await sql.query(counted, [project.id])).rowCount;
      };
      return { perDay, countProjects, token: await agreed(subject, 5) };
    };

    test('is rejected if less is left of the daily limit than what it counts for beyond the limit', async () => {
      const { perDay, countProjects, token } = await beyond('used-up');
      await perDay.leave(24);
      const response = await post(token, THIRTY);
      expect(response.status).toBe(429);
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
      const { errors } = (await response.json()) as { errors: { message: string }[] };
      expect(errors[0]!.message).toMatch('It would count for 25 more');
      expect(await countProjects()).toBe(1);
    });

    test('uses as much of the daily limit as it counts for beyond the limit', async () => {
      const { perDay, countProjects, token } = await beyond('large');
      expect(await perDay.usedBy(() => post(token, THIRTY), 200)).toBe(25);
      expect(await countProjects()).toBe(31);
    });

    test('uses nothing of the daily limit if it is rejected because of the limit per minute', async () => {
      const { perDay, token } = await beyond('too-soon');
      expect((await post(token, '{ viewer { tier } }')).status).toBe(200);
      expect(await perDay.usedBy(() => post(token, THIRTY), 429)).toBe(0);
    });
  });

  test('is also rejected over a WebSocket', async () => {
    const token = await agreed('socket', 31);
    const client = await connectSocket(app.url, token);
    for (let count = 0; count < 20; count++) expect((await post(token, '{ viewer { tier } }')).status).toBe(200);
    client.send({ id: '1', type: 'subscribe', payload: { query: THIRTY } });
    const { payload } = await client.next(({ id }) => id === '1');
    expect(payload).toMatchObject({ errors: [{ extensions: { code: 'RATE_LIMITED' } }] });
    await client.close();
    expect(await countOf(token)).toBe(0);
  });

  test('differs from REST, where each mutation counts as one request', async () => {
    const user = await app.user('rest', 'STARTER');
    await createProject(user);
    const { headers } = await user.rest('POST', '/api/projects', { name: 'Shop', walletAddress: WALLET });
    expect(Number(/r=(\d+)/.exec(headers.get('ratelimit')!)![1])).toBeGreaterThanOrEqual(58);
  });
});
