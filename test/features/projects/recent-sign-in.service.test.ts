import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { join, person } from '../../support/members.ts';
import { createEndpoint, createKey, createProject, GOOD, type Resource } from '../../support/resources.ts';

const OTHER_WALLET = '0x1F98431c8aD98523631AE4a59f267346ea31F984';
const OTHER_UPSTREAM = 'https://other.example.com/v1';

let app: TestApp;
/** The same person with two tokens: one from a sign-in just now, and one from a sign-in an hour ago. */
let fresh: TestUser;
let stale: TestUser;
let base: string;
let wallet: string;
let endpoint: string;

beforeAll(async () => {
  app = await startTestApp({
    env: { RECENT_SIGN_IN_SECONDS: '900', GATEWAY_DOMAIN: 'sells.dev', NETWORKS: 'base,polygon' },
  });
  fresh = await app.user('alice', 'ENTERPRISE');
  const signedInAt = new Date(Date.now() - 3_600_000);
  stale = app.caller(await app.issuer.sign({ subject: 'alice', tier: 'ENTERPRISE', signedInAt }));
  const project = await createProject(fresh);
  base = project.base;
  wallet = project.walletAddress as string;
  endpoint = `${base}/endpoints/${(await createEndpoint(fresh, base)).id}`;
});
afterAll(() => app?.stop());

const REFUSED = { status: 401, body: { code: 'RECENT_SIGN_IN_REQUIRED' } };

describe('with RECENT_SIGN_IN_SECONDS, someone who signed in an hour ago', () => {
  test.each<[string, () => string, object]>([
    ['the wallet', () => base, { walletAddress: OTHER_WALLET }],
    ['the networks', () => base, { networks: ['eip155:137'] }],
    ['the custom domain', () => base, { gatewayHost: 'api.moved.example' }],
    ['the default domain', () => base, { slug: 'moved' }],
    ['an upstream URL', () => endpoint, { upstreamUrl: OTHER_UPSTREAM }],
  ])("can't change %s until they sign in again", async (_what, path, change) => {
    const before = (await fresh.rest<Resource>('GET', path())).body;
    const refused = await stale.rest<Resource>('PATCH', path(), change);
    expect(refused).toMatchObject(REFUSED);
    expect(refused.body.detail).toContain(`\`${Object.keys(change)[0]}\``);
    expect(refused.headers.get('www-authenticate')).toMatch(
      /^Bearer realm="tollgate", error="insufficient_user_authentication", .*max_age="900"$/,
    );
    expect((await fresh.rest('GET', path())).body).toEqual(before);
    expect(await fresh.rest('PATCH', path(), change)).toMatchObject({ status: 200, body: change });
  });

  test('gets the same error from GraphQL', async () => {
    const update = 'mutation ($input: UpdateProjectInput!) { updateProject(input: $input) { project { id } } }';
    const input = { id: base.split('/').at(-1), walletAddress: wallet };
    const { errors } = await stale.graphql(update, { input });
    expect(errors).toMatchObject([{ extensions: { code: 'RECENT_SIGN_IN_REQUIRED', maxAgeSeconds: 900 } }]);
    expect((await fresh.graphql(update, { input })).errors).toBeUndefined();
  });

  test("can't offer the project to a new owner, who could then change the wallet", async () => {
    const offer = (owner: TestUser) =>
      owner.rest<Resource>('POST', `${base}/transfer`, { email: 'mallory@example.com' });
    const refused = await offer(stale);
    expect(refused).toMatchObject(REFUSED);
    expect(refused.body.detail).toContain('`owner`');
    expect((await fresh.rest('GET', `${base}/transfer`)).status).toBe(404);
    expect(await offer(fresh)).toMatchObject({ status: 200, body: { email: 'mallory@example.com' } });
    expect((await stale.rest('DELETE', `${base}/transfer`)).status).toBe(204);
  });

  test("can't delete the project, or give a domain that buyers may still use to a new project with another wallet", async () => {
    const named = { ...GOOD.project, name: 'Bakery' };
    const bakery = await createProject(fresh, named);
    const refused = await stale.rest<Resource>('DELETE', bakery.base);
    expect(refused).toMatchObject(REFUSED);
    expect(refused.body.detail).toContain('delete the project');
    expect((await fresh.rest('DELETE', bakery.base)).status).toBe(204);
    const wallet = { walletAddress: OTHER_WALLET, mode: 'LIVE' };
    for (const [path, body, what] of [
      ['/api/projects', { ...named, ...wallet }, '`slug`'],
      [`${base}/copy`, { name: 'Bakery', ...wallet }, '`slug`'],
      ['/api/projects', { ...GOOD.project, ...wallet, gatewayHost: 'api.bakery.example' }, '`gatewayHost`'],
    ] as const) {
      const redirected = await stale.rest<Resource>('POST', path, body);
      expect(redirected).toMatchObject(REFUSED);
      expect(redirected.body.detail).toContain(what);
    }
    expect((await stale.rest<Resource>('POST', '/api/projects', { ...named, name: 'Another' })).status).toBe(201);
    expect((await createProject(fresh, named)).slug).toBe('bakery');
  });

  test.each([
    ['with CREDENTIALS', { scopes: ['WRITE', 'CREDENTIALS'] }, '`CREDENTIALS`'],
    ['with only CREDENTIALS', { scopes: ['CREDENTIALS'] }, '`CREDENTIALS`'],
  ])("can't create an API key %s, which could then change an upstream URL", async (_what, fields, named) => {
    const create = (owner: TestUser) => owner.rest<Resource>('POST', `${base}/keys`, { name: 'Key', ...fields });
    const before = (await fresh.rest('GET', `${base}/keys`)).body;
    const refused = await create(stale);
    expect(refused).toMatchObject(REFUSED);
    expect(refused.body.detail).toContain(named);
    expect((await fresh.rest('GET', `${base}/keys`)).body).toEqual(before);
    expect((await create(fresh)).status).toBe(201);
  });

  test.each(['ADMIN', 'DEVELOPER'])("can't give someone the role %s, who could then do all this", async (role) => {
    const invite = (owner: TestUser) =>
      owner.rest<Resource>('POST', `${base}/invitations`, { email: `${role}@example.com`, role });
    const refused = await invite(stale);
    expect(refused).toMatchObject(REFUSED);
    expect(refused.body.detail).toContain(`\`${role}\``);
    expect(await invite(fresh)).toMatchObject({ status: 201, body: { role } });

    const member = await join(fresh, base, await person(app, `promoted-${role}`.toLowerCase()), 'VIEWER');
    const promote = (owner: TestUser) => owner.rest<Resource>('PATCH', `${base}/members/${member.id}`, { role });
    expect(await promote(stale)).toMatchObject(REFUSED);
    expect(await promote(fresh)).toMatchObject({ status: 200, body: { role } });
  });

  test('can create API keys and invite viewers who can do none of this, and take roles away', async () => {
    expect((await stale.rest('POST', `${base}/keys`, { name: 'Default' })).status).toBe(201);
    const viewer = { email: 'viewer@example.com', role: 'VIEWER' };
    expect((await stale.rest('POST', `${base}/invitations`, viewer)).status).toBe(201);
    const member = await join(fresh, base, await person(app, 'demoted'), 'ADMIN');
    for (const role of ['ADMIN', 'DEVELOPER', 'VIEWER'])
      expect((await stale.rest('PATCH', `${base}/members/${member.id}`, { role })).status).toBe(200);
  });

  test('can make all other changes, and send the same values again', async () => {
    const { body: project } = await fresh.rest<Resource>('GET', base);
    const { walletAddress, gatewayHost, slug, networks } = project;
    const same = {
      name: 'Renamed',
      walletAddress: (walletAddress as string).toLowerCase(),
      gatewayHost,
      slug,
      networks,
    };
    expect(await stale.rest('PATCH', base, same)).toMatchObject({
      status: 200,
      body: { name: 'Renamed', walletAddress },
    });
    const { upstreamUrl } = (await fresh.rest<Resource>('GET', endpoint)).body;
    expect((await stale.rest('PATCH', endpoint, { upstreamUrl, priceUsd: '0.07' })).status).toBe(200);
    expect((await stale.rest('POST', `${base}/endpoints`, { path: '/new', upstreamUrl, priceUsd: '1' })).status).toBe(
      201,
    );
  });

  test('can use an API key, and its scopes determine whether it can change upstream URLs', async () => {
    const { key } = await createKey(fresh, base, { scopes: ['READ', 'WRITE', 'CREDENTIALS'] });
    const upstreamUrl = 'https://by-key.example.com/';
    expect(await app.caller(key).rest('PATCH', endpoint, { upstreamUrl })).toMatchObject({
      status: 200,
      body: { upstreamUrl },
    });
  });
});
