import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { insertPayment } from '../../support/payments.ts';
import { createEndpoint, createProject, createWebhook, type Resource } from '../../support/resources.ts';
import { installClients } from './installed.ts';
import { type Folder, openFolder } from './program.ts';

let app: TestApp;
let sql: pg.Pool;
let folder: Folder;
let alice: TestUser;
let project: Resource & { base: string };
let paymentId: string;

beforeAll(async () => {
  folder = await openFolder(await installClients(), {});
  app = await startTestApp({ env: { ROLES: 'api' } });
  sql = new pg.Pool({ connectionString: app.databaseUrl, max: 1 });
  alice = await app.user('alice', 'ENTERPRISE');
  project = await createProject(alice);
  const endpoint = await createEndpoint(alice, project.base);
  const place = { projectId: project.id, endpointId: endpoint.id };
  ({ paymentId } = await insertPayment(sql, { ...place, mark: 'settled' }));
}, 600_000);
afterAll(async () => {
  await sql?.end();
  await app?.stop();
  await folder?.close();
});

/** Creates an axios instance for the API. */
const CLIENT = `
import axios from 'axios';
const api = axios.create({
  baseURL: input.url,
  headers: { Authorization: 'Bearer ' + input.token },
  validateStatus: () => true,
});
`;

/** Runs a program that gets `input` and `api`, and prints JSON. */
async function run<T>(source: string, input: object = {}): Promise<T> {
  const program = `const input = JSON.parse(process.env.INPUT);\n${CLIENT}${source}`;
  const env = { INPUT: JSON.stringify({ ...input, url: app.url, token: alice.token, base: project.base }) };
  const { stdout, stderr } = await folder.run(['--input-type=module', '--eval', program], env);
  expect(stderr).toBe('');
  return JSON.parse(stdout) as T;
}

test('axios can call actions and delete resources without a body', async () => {
  const webhook = await createWebhook(alice, project.base);
  await alice.rest('POST', `${project.base}/webhooks/${webhook.id}/test`);
  const { body } = await alice.rest<{ data: Resource[] }>('GET', `${project.base}/deliveries?webhookId=${webhook.id}`);
  const at = `${project.base}/webhooks/${webhook.id}`;
  const results = await run<{ status: number; type: string }[]>(
    `
const sent = [];
const note = ({ status, config }) => sent.push({ status, type: config.headers['Content-Type'] || null });
note(await api.post(input.base + '/deliveries/' + input.delivery + '/resend'));
note(await api.post(input.at + '/rotate-secret'));
note(await api.post(input.base + '/notices/read', undefined));
note(await api.post(input.at + '/test', null));
note(await api.delete(input.at, { headers: { 'Content-Type': 'application/x-www-form-urlencoded' } }));
console.log(JSON.stringify(sent));
`,
    { at, delivery: body.data[0]!.id },
  );
  const form = expect.stringMatching(/^application\/x-www-form-urlencoded/);
  expect(results.slice(1)).toEqual([
    { status: 200, type: form },
    { status: 200, type: form },
    { status: 200, type: form },
    { status: 204, type: form },
  ]);
  // The delivery may be in progress.
  expect([200, 409]).toContain(results[0]!.status);
});

test('axios gets a validation error, not 415, for a change without a body', async () => {
  const results = await run(`
const patched = await api.patch(input.base);
const asked = await api.post('/graphql');
console.log(JSON.stringify([patched, asked].map(({ status, data }) => ({ status, data }))));
`);
  expect(results).toMatchObject([
    { status: 422, data: { code: 'VALIDATION_FAILED', errors: [{ pointer: '' }] } },
    { status: 400, data: { errors: [{ extensions: { code: 'BAD_REQUEST' } }] } },
  ]);
});

test('axios can filter lists with arrays, in all of its notations', async () => {
  const results = await run<string[][]>(`
const list = async (params, indexes) =>
  (await api.get(input.base + '/payments', { params, paramsSerializer: { indexes } })).data.data.map(({ id }) => id);
const found = [];
for (const indexes of [false, true, null]) {
  found.push(await list({ status: ['FAILED'] }, indexes));
  found.push(await list({ status: ['FAILED', 'SETTLED'], expand: ['endpoint', 'customer'] }, indexes));
}
console.log(JSON.stringify(found));
`);
  expect(results).toEqual([[], [paymentId], [], [paymentId], [], [paymentId]]);
});

test('axios gets an error for an array where only one value is possible', async () => {
  const result = await run(`
const { status, data } = await api.get(input.base + '/payments', { params: { payer: ['0x1'], limit: 5 } });
console.log(JSON.stringify({ status, errors: data.errors }));
`);
  expect(result).toEqual({
    status: 422,
    errors: [{ pointer: '/payer[]', message: expect.stringContaining('`payer`') }],
  });
});
