import { parse } from 'graphql';
import { formatDocument, stringifyDocument } from 'urql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SCHEMA_QUERY } from '../../src/console/api/schema-query.ts';
import { ViewerDocument } from '../../src/generated/console/viewer.ts';
import { CONSOLE_READS_PER_MINUTE } from '../../src/limits/tiers.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { createProject } from '../support/resources.ts';

const CONSOLE_QUERY = stringifyDocument(formatDocument(ViewerDocument));
const OTHER_QUERY = stringifyDocument(parse('query Viewer { viewer { tier } }'));
const ANNOUNCED = { 'tollgate-client': 'console' };

let app: TestApp;
beforeAll(async () => {
  // Limits don't refill during a test.
  app = await startTestApp({ env: { ROLES: 'api' }, rateLimitNow: () => 0 });
});
afterAll(() => app?.stop());

/** Sends a query, and returns the limit that it counted toward, such as `console 119`. */
async function limitOf(credential: string, query: string, headers: Record<string, string> = ANNOUNCED) {
  const response = await fetch(`${app.url}/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${credential}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ query }),
  });
  await response.text();
  const [, policy, limit] = /^"(\w+)";q=(\d+)/.exec(response.headers.get('ratelimit-policy') ?? '') ?? [];
  return { status: response.status, policy, limit: Number(limit) };
}

describe("the console's own queries", () => {
  test("have a separate limit, and don't use up the account's", async () => {
    const starter = await app.user('looks', 'STARTER');
    expect(await limitOf(starter.token, CONSOLE_QUERY)).toEqual({ status: 200, policy: 'console', limit: 120 });
    for (let count = 0; count < 70; count += 1) await limitOf(starter.token, CONSOLE_QUERY);
    const { status, headers } = await starter.rest('GET', '/api/projects');
    expect([status, headers.get('ratelimit')]).toEqual([200, '"default";r=59;t=1']);
  });

  test('are the only ones with that limit: other queries, and those from API keys, count toward the account’s limit', async () => {
    const starter = await app.user('pretends', 'STARTER');
    const { base } = await createProject(starter);
    const { body } = await starter.rest<{ key: string }>('POST', `${base}/keys`, { name: 'ci' });
    const account = { status: 200, policy: 'default', limit: 60 };
    expect(await limitOf(starter.token, OTHER_QUERY)).toEqual(account);
    expect(await limitOf(starter.token, `${CONSOLE_QUERY}\n`)).toEqual(account);
    expect(await limitOf(starter.token, CONSOLE_QUERY, {})).toEqual(account);
    expect(await limitOf(body.key, CONSOLE_QUERY)).toEqual(account);
  });

  test('include the schema, which costs an API key as much as any other introspection', async () => {
    const starter = await app.user('explores', 'STARTER');
    const { base } = await createProject(starter);
    const { body } = await starter.rest<{ key: string }>('POST', `${base}/keys`, { name: 'ci' });
    expect(await limitOf(starter.token, SCHEMA_QUERY)).toEqual({ status: 200, policy: 'console', limit: 120 });
    const left = async () => /r=(\d+)/.exec((await starter.rest('GET', '/api/projects')).headers.get('ratelimit')!)![1];
    expect(await left()).toBe('57');
    await limitOf(body.key, SCHEMA_QUERY, {});
    const announced = Number(await left());
    await limitOf(body.key, SCHEMA_QUERY);
    expect(announced - Number(await left())).toBe(57 - announced);
  });

  test('have the same limit if a script sends them, and the script’s other queries don’t get it', async () => {
    const starter = await app.user('scripts', 'STARTER');
    const send = (query: string, headers: Record<string, string>) =>
      Promise.all(Array.from({ length: 150 }, () => limitOf(starter.token, query, headers)));
    const answers = [
      ...(await send(OTHER_QUERY, ANNOUNCED)),
      ...(await send(CONSOLE_QUERY, ANNOUNCED)),
      ...(await send(OTHER_QUERY, {})),
    ];
    const admitted = answers.filter(({ status }) => status === 200).length;
    expect(admitted).toBeLessThanOrEqual(CONSOLE_READS_PER_MINUTE + 60);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 429]));
  });
});
