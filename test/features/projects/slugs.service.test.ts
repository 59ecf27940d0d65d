import pino from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDatabase } from '../../../src/database/client.ts';
import { DELETED_USER_ID } from '../../../src/features/deletions/soft-delete.ts';
import { assignMissingSlugs } from '../../../src/features/projects/slugs.ts';
import { rawRequest } from '../../gateway/sign.ts';
import type { TestUser } from '../../support/app.ts';
import { sendRaw } from '../../support/raw-http.ts';
import { createKey, createProject, GOOD, type Resource, WALLET } from '../../support/resources.ts';
import { type HostStage, openHostStage } from './hosts/stage.ts';

const DOMAIN = 'pay.test';

let stage: HostStage;
let owner: TestUser;
let stranger: TestUser;

beforeAll(async () => {
  stage = await openHostStage({ GATEWAY_DOMAIN: DOMAIN });
  owner = await stage.app.user('owner');
  stranger = await stage.app.user('stranger');
});
afterAll(() => stage?.close());

const rename = (user: TestUser, base: string, slug: unknown) =>
  user.rest<Resource & { code: string; errors: { pointer: string; message: string }[] }>('PATCH', base, { slug });

describe('a project on a service with GATEWAY_DOMAIN', () => {
  test('gets a default domain made from its name, and is served there', async () => {
    const shop = await createProject(owner, { name: 'Weather Ünit' });
    expect(shop).toMatchObject({
      slug: 'weather-unit',
      defaultHost: `weather-unit.${DOMAIN}`,
      gatewayHost: null,
      gatewayUrl: `https://weather-unit.${DOMAIN}`,
    });
    await owner.rest('POST', `${shop.base}/endpoints`, { ...GOOD.endpoint, path: '/weather' });
    await expect.poll(() => stage.payeeAt(`weather-unit.${DOMAIN}`)).toBe(WALLET);
    expect(await stage.payeeAt(`WEATHER-unit.${DOMAIN}:8443`)).toBe(WALLET);
    expect(await stage.payeeAt(`a.weather-unit.${DOMAIN}`)).toBe(404);
    await owner.rest('DELETE', shop.base);
    await expect.poll(() => stage.payeeAt(`weather-unit.${DOMAIN}`)).toBe(404);
  });

  test('does not share its domain with any part of the service, not even under unused names', async () => {
    for (const name of ['nobody', 'www', 'a.b']) {
      const [response] = await sendRaw(stage.app.url, [rawRequest('GET /healthz', `Host: ${name}.${DOMAIN}`)]);
      expect(response!.status).toBe(404);
    }
    const [response] = await sendRaw(stage.app.url, [rawRequest('GET /healthz', 'Host: other.test')]);
    expect(response!.status).toBe(200);
  });

  test('has its custom domain in its URL once that is active', async () => {
    const { id, gatewayUrl } = await createProject(owner, { name: 'Both', gatewayHost: 'both.example' });
    expect(gatewayUrl).toBe('https://both.example');
    await owner.rest('POST', `/api/projects/${id}/endpoints`, { ...GOOD.endpoint, path: '/weather' });
    await expect.poll(() => stage.payeeAt('both.example')).toBe(WALLET);
    expect(await stage.payeeAt(`both.${DOMAIN}`)).toBe(WALLET);
  });

  test('cannot have a custom domain under that domain', async () => {
    for (const gatewayHost of [`x.${DOMAIN}`, DOMAIN, `a.b.${DOMAIN}`]) {
      const { status, body } = await owner.rest<{ errors: object[] }>('POST', '/api/projects', {
        ...GOOD.project,
        gatewayHost,
      });
      expect([status, body.errors]).toMatchObject([422, [{ pointer: '/gatewayHost' }]]);
    }
  });

  test('gets a name with a random ending if its own is taken or reserved for the service', async () => {
    const first = await createProject(owner, { name: 'Same' });
    const others = await Promise.all(Array.from({ length: 5 }, () => createProject(stranger, { name: 'Same' })));
    expect(first.slug).toBe('same');
    for (const { slug } of others) expect(slug).toMatch(/^same-[a-z0-9]{5}$/);
    expect(new Set(others.map(({ slug }) => slug)).size).toBe(5);
    expect((await createProject(owner, { name: 'admin' })).slug).toMatch(/^project-[a-z0-9]{5}$/);
  });

  test('can be renamed by a person, but not with an API key', async () => {
    const shop = await createProject(owner, { name: 'Before' });
    const key = stage.app.caller((await createKey(owner, shop.base)).key);
    expect((await rename(key, shop.base, 'after')).body.code).toBe('FORBIDDEN');
    await owner.rest('POST', `${shop.base}/endpoints`, { ...GOOD.endpoint, path: '/weather' });
    expect((await rename(owner, shop.base, 'after')).body).toMatchObject({ slug: 'after', name: 'Before' });
    await expect.poll(() => stage.payeeAt(`after.${DOMAIN}`)).toBe(WALLET);
    await expect.poll(() => stage.payeeAt(`before.${DOMAIN}`)).toBe(404);
    for (const slug of ['admin', 'No', null])
      expect((await rename(owner, shop.base, slug)).body.errors).toMatchObject([{ pointer: '/slug' }]);
  });

  test('releases its name to other accounts only after 30 days', async () => {
    const shop = await createProject(owner, { name: 'Released' });
    const stall = await createProject(stranger, { name: 'Stall' });
    await rename(owner, shop.base, 'renamed');
    const refused = await rename(stranger, stall.base, 'released');
    expect([refused.status, refused.body]).toMatchObject([
      409,
      { code: 'HOST_RESERVED', errors: [{ pointer: '/slug' }] },
    ]);
    expect((await createProject(stranger, { name: 'Released' })).slug).toMatch(/^released-/);
    expect((await rename(owner, shop.base, 'released')).status).toBe(200);
    await owner.rest('DELETE', shop.base);
    expect((await rename(stranger, stall.base, 'released')).status).toBe(409);
    await stage.sql.query(`UPDATE "ReleasedHost" SET "reservedUntil" = now() WHERE "host" = 'slug:released'`);
    expect((await rename(stranger, stall.base, 'released')).status).toBe(200);
  });

  test('can’t install a service worker that stays in browsers when someone else gets its name', async () => {
    const called: string[] = [];
    stage.web.handle(({ path }) => {
      called.push(path);
      return { body: 'script' };
    });
    const shop = await createProject(owner, { name: 'Workers', gatewayHost: 'workers.example' });
    const free = { path: '/worker', upstreamUrl: `${stage.web.url}/worker`, priceUsd: '0' };
    await owner.rest('POST', `${shop.base}/endpoints`, { ...GOOD.endpoint, ...free });
    const statusAt = async (host: string, path: string, ...headers: string[]) => {
      const [response] = await sendRaw(stage.app.url, [rawRequest(`GET ${path}`, `Host: ${host}`, ...headers)]);
      return response!.status;
    };
    await expect.poll(() => statusAt(`workers.${DOMAIN}`, '/worker')).toBe(200);
    await expect.poll(() => statusAt('workers.example', '/worker')).toBe(200);
    called.length = 0;

    const script = 'Service-Worker: script';
    expect(await statusAt(`workers.${DOMAIN}`, '/worker', script)).toBe(404);
    expect(await statusAt(`Workers.${DOMAIN}.:8443`, '/worker', script)).toBe(404);
    expect(await statusAt('tollgate.test', `/gateway/${shop.id}/worker`, script)).toBe(404);
    expect(called).toEqual([]);
    expect(await statusAt('workers.example', '/worker', script)).toBe(200);
  });

  test('can’t get a certificate for its name, which would stay valid when someone else gets the name', async () => {
    const called: string[] = [];
    stage.web.handle(({ path }) => {
      called.push(path);
      return { body: 'proof' };
    });
    const shop = await createProject(owner, { name: 'Proofs', gatewayHost: 'proofs.example' });
    const free = { path: '/*', upstreamUrl: `${stage.web.url}/files`, priceUsd: '0' };
    await owner.rest('POST', `${shop.base}/endpoints`, { ...GOOD.endpoint, ...free });
    const statusAt = async (host: string, path: string) => {
      const [response] = await sendRaw(stage.app.url, [rawRequest(`GET ${path}`, `Host: ${host}`)]);
      return response!.status;
    };
    await expect.poll(() => statusAt(`proofs.${DOMAIN}`, '/page')).toBe(200);
    await expect.poll(() => statusAt('proofs.example', '/page')).toBe(200);
    called.length = 0;

    for (const path of ['/.well-known/acme-challenge/token', '/.well-known/pki-validation/token.txt']) {
      expect(await statusAt(`proofs.${DOMAIN}`, path)).toBe(404);
      expect(await statusAt(`Proofs.${DOMAIN}.:8443`, `${path}?query`)).toBe(404);
      expect(called).toEqual([]);
      // The seller's own domain, and a path that only begins in the same way.
      expect(await statusAt('proofs.example', path)).toBe(200);
      expect(await statusAt(`proofs.${DOMAIN}`, path.replace(/\/[^/]+$/, 's'))).toBe(200);
      called.length = 0;
    }
  });

  test('gets a random ending once its account has 100 reserved names, so that no account can block more', async () => {
    const hoarder = await stage.app.user('hoarder');
    const { id } = await createProject(hoarder, { name: 'First' });
    await stage.sql.query(
      `INSERT INTO "ReleasedHost" ("host", "userId", "reservedUntil")
       SELECT 'slug:hoard-' || n, (SELECT "userId" FROM "Project" WHERE "id" = $1), now() + interval '1 day' FROM generate_series(1, 100) n`,
      [id],
    );
    expect((await createProject(hoarder, { name: 'Brand' })).slug).toMatch(/^brand-[a-z0-9]{5}$/);
    expect((await createProject(hoarder, { name: 'Hoard 7' })).slug).toBe('hoard-7');
  });

  test('is the only one with its name, even if many are renamed at the same time', async () => {
    const stalls = await Promise.all(Array.from({ length: 5 }, () => createProject(owner, { name: 'Racer' })));
    const results = await Promise.all(stalls.map(({ base }) => rename(owner, base, 'winner')));
    expect(results.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409]);
    for (const { body } of results.filter(({ status }) => status === 409))
      expect(body).toMatchObject({ code: 'CONFLICT', errors: [{ pointer: '/slug' }] });
  });

  test('gets a name later if it was created before the setting, no matter how many processes assign names', async () => {
    const names = Array.from({ length: 300 }, (_, index) => (index % 2 ? 'Old' : `Old ${index}`));
    await stage.sql.query(`UPDATE "Project" SET "slug" = NULL`);
    await stage.sql.query(
      `INSERT INTO "Project" ("id", "userId", "name", "walletAddress")
       SELECT new_id('proj'), (SELECT "id" FROM "User" WHERE "subject" = 'owner'), name, '0x1' FROM unnest($1::text[]) AS name`,
      [names],
    );
    const db = await openDatabase({ url: stage.app.databaseUrl, poolSize: 4, log: pino({ level: 'silent' }) });
    await Promise.all([assignMissingSlugs(db), assignMissingSlugs(db)]);
    await db.close();
    const { rows } = await stage.sql.query<{ missing: number; names: number; total: number }>(
      `SELECT count(*) FILTER (WHERE "slug" IS NULL AND "userId" <> '${DELETED_USER_ID}')::int AS missing,
         count(DISTINCT "slug")::int AS names, count("slug")::int AS total FROM "Project"`,
    );
    expect(rows[0]!.missing).toBe(0);
    expect(rows[0]!.names).toBe(rows[0]!.total);
  });
});
