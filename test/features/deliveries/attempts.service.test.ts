import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { newId } from '../../../src/ids.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { createEndpoint, createProject, createWebhook } from '../../support/resources.ts';

const ATTEMPTS = 12;

let app: TestApp;
let sql: pg.Pool;
let alice: TestUser;
let project: { id: string; base: string };
let deliveryId: string;

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api' } });
  sql = new pg.Pool({ connectionString: app.databaseUrl });
  alice = await app.user('alice', 'ENTERPRISE');
  project = await createProject(alice);
  await createWebhook(alice, project.base);
  await createEndpoint(alice, project.base);
  const { rows } = await sql.query<{ id: string }>('SELECT "id" FROM "Delivery"');
  deliveryId = rows[0]!.id;
  await sql.query(
    `INSERT INTO "Attempt" ("id", "deliveryId", "number", "trigger", "startedAt", "durationMs", "responseBody")
     SELECT id, $1, number, 'SCHEDULED', now(), 1, 'body ' || number
       FROM unnest($2::text[]) WITH ORDINALITY AS attempt (id, number)`,
    [deliveryId, Array.from({ length: ATTEMPTS }, () => newId('Attempt'))],
  );
});

afterAll(async () => {
  await sql?.end();
  await app?.stop();
});

const attemptsOf = (selection: string) =>
  alice.graphql<{ node: { attempts: { number: number; responseBody?: string }[] } | null }>(
    `query ($id: ID!) { node(id: $id) { ... on Delivery { ${selection} } } }`,
    { id: deliveryId },
  );
const numbers = (attempts: { number: number }[]) => attempts.map(({ number }) => number);
const from = (first: number) => Array.from({ length: ATTEMPTS - first + 1 }, (_, index) => first + index);

test('a delivery’s last ten attempts are returned by default, oldest first', async () => {
  const { data } = await attemptsOf('attempts { number responseBody }');
  expect(numbers(data!.node!.attempts)).toEqual(from(3));
  expect(data!.node!.attempts.at(-1)).toEqual({ number: 12, responseBody: 'body 12' });
});

test.each([1, 12, 100])('the last %d attempts can be requested', async (last) => {
  const { data } = await attemptsOf(`attempts(last: ${last}) { number }`);
  expect(numbers(data!.node!.attempts)).toEqual(from(Math.max(1, ATTEMPTS - last + 1)));
});

test.each([0, -1, 101])('the last %d attempts can’t be requested', async (last) => {
  const { data, errors } = await attemptsOf(`attempts(last: ${last}) { number }`);
  expect(errors).toMatchObject([{ extensions: { code: 'VALIDATION_FAILED', field: '/last' } }]);
  expect(data?.node ?? null).toBeNull();
});

test('in REST, a delivery has all of its attempts, and a list has the last ten of each', async () => {
  type Delivery = { attempts: { number: number; responseBody: string }[] };
  const one = await alice.rest<Delivery>('GET', `${project.base}/deliveries/${deliveryId}`);
  expect(numbers(one.body.attempts)).toEqual(from(1));
  const list = await alice.rest<{ data: Delivery[] }>('GET', `${project.base}/deliveries?expand=attempts`);
  expect(numbers(list.body.data[0]!.attempts)).toEqual(from(3));
});

test('responses of attempts are read from the database only if a document selects them', async () => {
  const query = vi.spyOn(pg.Client.prototype, 'query');
  const readsOf = async (selection: string) => {
    query.mockClear();
    await attemptsOf(selection);
    const texts = query.mock.calls.map(([statement]) => (statement as unknown as { text?: string }).text ?? '');
    return texts.filter((text) => text.includes('"Attempt"')).map((text) => text.includes('"responseBody"'));
  };
  expect(await readsOf('attempts { number }')).toEqual([false]);
  expect(await readsOf('attempts { responseBody }')).toEqual([true]);
  query.mockRestore();
});
