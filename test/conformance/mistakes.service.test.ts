import { afterAll, beforeAll, expect, test } from 'vitest';
import { CLI_MISTAKES, GRAPHQL_MISTAKES, type Kind, type Mistake, REST_MISTAKES } from '../../scripts/mistakes.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { runCli } from '../support/cli.ts';
import {
  createConnector,
  createEndpoint,
  createKey,
  createProject,
  createWebhook,
  GOOD,
} from '../support/resources.ts';

let app: TestApp;
let alice: TestUser;
/** The caller who makes the invalid request. */
let callers: Record<string, TestUser>;
/** The values for placeholders such as `{project}`. */
let ids: Record<string, string>;

beforeAll(async () => {
  app = await startTestApp();
  alice = await app.user('alice', 'PRO');
  const project = await createProject(alice);
  const keyWith = async (...scopes: string[]) =>
    app.caller((await createKey(alice, project.base, { scopes, name: 'x' })).key);
  ids = {
    project: project.id,
    webhook: (await createWebhook(alice, project.base)).id,
    connector: (await createConnector(alice, project.base)).id,
    endpoint: (await createEndpoint(alice, project.base, { path: '/taken' })).id,
  };
  callers = {
    alice,
    reader: await keyWith('READ'),
    writer: await keyWith('READ', 'WRITE', 'CREDENTIALS', 'DELIVERIES'),
  };
});
afterAll(() => app?.stop());

const fillIn = (text: string) => text.replaceAll(/\{(\w+)\}/g, (all, name: string) => ids[name] ?? all);

/** The body, with the other fields of a valid one and without undefined fields. */
function complete(body: unknown): unknown {
  if (Array.isArray(body)) return body.map(complete);
  if (typeof body !== 'object' || body === null) return body;
  const { '…': kind, ...fields } = body as Record<string, unknown>;
  return { ...(kind !== undefined && GOOD[kind as Kind]), ...fields };
}

const escapeRegExp = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** Matches a text in which `…` stands for text that the documentation leaves out. */
function withGaps(text: string) {
  return expect.stringMatching(new RegExp(`^${fillIn(text).split('…').map(escapeRegExp).join('.+')}$`, 's'));
}

const nameOf = ({ request, body }: Mistake) => [request, body === undefined ? '' : JSON.stringify(body)].join(' ');
const named = (mistakes: readonly Mistake[]) => mistakes.map((mistake) => [nameOf(mistake), mistake] as const);

test.each(named(Object.values(REST_MISTAKES).flat()))('%s says what to do instead', async (_name, mistake) => {
  const [method, path] = fillIn(mistake.request).split(' ') as [string, string];
  const { token } = callers[mistake.caller ?? 'alice']!;
  const body = typeof mistake.body === 'string' ? mistake.body : JSON.stringify(complete(mistake.body));
  const response = await fetch(app.url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: fillIn(body) }),
  });
  expect(response.status).toBeGreaterThanOrEqual(400);
  expect(await response.json()).toMatchObject({ detail: withGaps(mistake.detail) });
});

/** A document for the name of a mutation. */
function mutationOf(name: string): string {
  const type = `${name[0]!.toUpperCase()}${name.slice(1)}Input`;
  return `mutation ($input: ${type}!) { ${name}(input: $input) { __typename } }`;
}

test.each(named(GRAPHQL_MISTAKES))(
  'in GraphQL, %s says what to do instead',
  async (_name, { request, body, detail }) => {
    const query = request.startsWith('{') ? fillIn(request) : mutationOf(request);
    const input = body && { projectId: ids.project, ...(complete(body) as object) };
    const { errors } = await alice.graphql(query, { input });
    expect(errors?.[0]?.message).toEqual(withGaps(detail));
  },
);

test.each(CLI_MISTAKES)('tollgate %s says what to do instead', async (args, exitCode, sentence) => {
  const env = { TOLLGATE_URL: app.url, TOLLGATE_TOKEN: alice.token, TOLLGATE_PROJECT: ids.project! };
  const { code, stderr } = await runCli(fillIn(args).split(' '), env);
  expect({ code, stderr }).toEqual({ code: exitCode, stderr: expect.stringContaining(fillIn(sentence)) });
});
