import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { createKey, createProject, GOOD, type Resource } from '../../support/resources.ts';
import { openRest, type Rest } from '../../support/rest.ts';

let app: TestApp;
let rest: Rest;
let alice: TestUser;

beforeAll(async () => {
  app = await startTestApp();
  rest = await openRest(app);
  alice = await app.user('alice');
});
afterAll(() => app?.stop());

const create = (user: TestUser, fields: object) =>
  rest.send<Resource>(user, 'POST', '/api/projects', { body: { ...GOOD.project, ...fields } });

describe('a custom domain', () => {
  test.each([
    ['shop.example.com', 'shop.example.com'],
    ['SHOP2.Example.com', 'shop2.example.com'],
    ['a-b.c-d.example', 'a-b.c-d.example'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['shop.localhost', 'shop.localhost'],
    ['1st.example', '1st.example'],
    [`${'a'.repeat(63)}.example`, `${'a'.repeat(63)}.example`],
  ])('%s is stored as %s', async (gatewayHost, kept) => {
    const { status, body } = await create(alice, { gatewayHost });
    expect(status).toBe(201);
    expect(body.gatewayHost).toBe(kept);
  });

  test.each([
    ...[
      '',
      'shop',
      'https://shop.example',
      'shop.example/',
      'shop.example:443',
      'shop.example.',
      '.example',
      'a..example',
    ],
    ...[
      '-a.example',
      'a-.example',
      'a_b.example',
      'a b.example',
      'a@b.example',
      '*.example',
      'a%62.example',
      'a\n.example',
    ],
    ...['127.0.0.1', '0x7f.1', '[::1]', '10.1', 'shop.1', `${'a'.repeat(64)}.example`, `${'a.'.repeat(126)}example`],
  ])('%j is rejected', async (gatewayHost) => {
    const { status, body } = await create(alice, { gatewayHost });
    expect(status).toBe(422);
    expect(body.errors).toMatchObject([{ pointer: '/gatewayHost' }]);
  });

  test('is rejected in production while PUBLIC_URL is not set', async () => {
    const nameless = await startTestApp({ config: { production: true, publicUrl: undefined } });
    try {
      const seller = await nameless.user('alice');
      const fields = { ...GOOD.project, gatewayHost: 'gate.example.com' };
      const { status, body } = await seller.rest<Resource>('POST', '/api/projects', fields);
      expect(status).toBe(422);
      expect(body.errors).toEqual([
        {
          pointer: '/gatewayHost',
          message: expect.stringContaining('until the operator of this service sets PUBLIC_URL'),
        },
      ]);
      expect((await seller.rest('POST', '/api/projects', GOOD.project)).status).toBe(201);
    } finally {
      await nameless.stop();
    }
  });

  test('can belong to only one project, even if several claim it at the same time with different capitalization', async () => {
    const bob = await app.user('bob');
    const responses = await Promise.all(
      ['one.example', 'ONE.example', 'one.Example'].map((gatewayHost, index) =>
        create(index ? bob : alice, { gatewayHost }),
      ),
    );
    expect(responses.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
    const conflict = responses.find(({ status }) => status === 409)!;
    expect(conflict.body).toMatchObject({ code: 'CONFLICT', errors: [{ pointer: '/gatewayHost' }] });
    const other = await createProject(bob);
    expect((await rest.send(bob, 'PATCH', other.base, { body: { gatewayHost: 'one.example' } })).status).toBe(409);
  });

  test('is available again after it is removed or its project is deleted', async () => {
    const first = await createProject(alice, { gatewayHost: 'free.example' });
    await rest.send(alice, 'PATCH', first.base, { body: { name: 'Renamed' } });
    expect((await rest.send(alice, 'GET', first.base)).body.gatewayHost).toBe('free.example');
    const removed = await rest.send(alice, 'PATCH', first.base, { body: { gatewayHost: null } });
    expect(removed.body.gatewayHost).toBeNull();
    const second = await createProject(alice, { gatewayHost: 'free.example' });
    await rest.send(alice, 'DELETE', second.base);
    expect((await rest.send(alice, 'PATCH', first.base, { body: { gatewayHost: 'free.example' } })).status).toBe(200);
  });
});

describe('milestones', () => {
  test('default to 1, 10, 100, 1000, and 10000 USD, and can be changed', async () => {
    expect((await create(alice, {})).body.milestonesUsd).toEqual(['1', '10', '100', '1000', '10000']);
    const { body } = await create(alice, {
      milestonesUsd: ['250.50', '0.000001', '3', '250.5', '999999999999.999999'],
    });
    expect(body.milestonesUsd).toEqual(['0.000001', '3', '250.5', '999999999999.999999']);
    const changed = await rest.send(alice, 'PATCH', `/api/projects/${body.id}`, { body: { milestonesUsd: [] } });
    expect(changed.body.milestonesUsd).toEqual([]);
    expect(
      (await rest.send(alice, 'PATCH', `/api/projects/${body.id}`, { body: { name: 'B' } })).body.milestonesUsd,
    ).toEqual([]);
  });

  test.each([
    [['0'], '/milestonesUsd/0'],
    [['1', '-1'], '/milestonesUsd/1'],
    [['1', '2', '0.0000001'], '/milestonesUsd/2'],
    [['1e3'], '/milestonesUsd/0'],
    [[5], '/milestonesUsd/0'],
    [null, '/milestonesUsd'],
    ['1', '/milestonesUsd'],
    [Array.from({ length: 51 }, (_, index) => String(index + 1)), '/milestonesUsd'],
  ])('cannot be %j', async (milestonesUsd, pointer) => {
    const { status, body } = await create(alice, { milestonesUsd });
    expect(status).toBe(422);
    expect(body.errors).toMatchObject([{ pointer }]);
  });
});

test("each project has one upstream secret, which its owner can read but API keys can't", async () => {
  const project = await createProject(alice);
  const other = await createProject(alice);
  const query = 'query ($id: ID!) { project(id: $id) { id upstreamSecret } }';
  const read = async (user: TestUser, id: string) =>
    user.graphql<{ project: { upstreamSecret: string } | null }>(query, { id });
  const secret = (await read(alice, project.id)).data!.project!.upstreamSecret;
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect((await read(alice, project.id)).data!.project!.upstreamSecret).toBe(secret);
  expect((await read(alice, other.id)).data!.project!.upstreamSecret).not.toBe(secret);

  const key = app.caller((await createKey(alice, project.base)).key);
  expect((await read(key, project.id)).data).toEqual({ project: { id: project.id, upstreamSecret: null } });
  expect((await read(await app.user('mallory'), project.id)).data).toEqual({ project: null });
  expect((await rest.send(alice, 'GET', project.base)).text).not.toContain('whsec_');
});
