import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { rawRequest } from '../../../gateway/sign.ts';
import type { TestUser } from '../../../support/app.ts';
import { join, person } from '../../../support/members.ts';
import { sendRaw } from '../../../support/raw-http.ts';
import { createKey, createProject, WALLET } from '../../../support/resources.ts';
import { type HostStage, openHostStage } from './stage.ts';

const STRANGERS_WALLET = '0x1F98431c8aD98523631AE4a59f267346ea31F984';

let stage: HostStage;
let owner: TestUser;
let stranger: TestUser;
let host: string;

beforeAll(async () => {
  stage = await openHostStage();
  owner = await stage.app.user('owner');
  stranger = await stage.app.user('stranger');
});
afterAll(() => stage?.close());
beforeEach(() => {
  host = stage.nextHost();
  stage.web.handle(() => ({ statusCode: 404 }));
});

/** A project that has verified the host by DNS. */
async function createActive() {
  const shop = await stage.claim(owner, host);
  const status = await stage.status(owner, shop.base);
  stage.publish(status);
  expect((await stage.verify(owner, shop.base)).body.gatewayHostStatus).toMatchObject({ status: 'ACTIVE' });
  await expect.poll(() => stage.payeeAt(host)).toBe(WALLET);
  return { ...shop, status };
}

describe('a custom domain', () => {
  test('is not served before its owner has verified it, and the status says what to publish', async () => {
    const shop = await stage.claim(owner, host.toUpperCase());
    expect(shop.gatewayHost).toBe(host);
    expect(shop.gatewayUrl).toBeNull();
    const status = await stage.status(owner, shop.base);
    expect(status).toMatchObject({
      host,
      status: 'PENDING',
      activeHost: null,
      verifiedAt: null,
      problem: null,
      dnsRecord: { name: `_tollgate.${host}`, value: expect.stringMatching(/^tollgate-verification=[\w-]{32}$/) },
    });
    const { body } = await stage.verify(owner, shop.base);
    expect(body.gatewayHostStatus).toMatchObject({
      status: 'PENDING',
      problem: `There is no TXT record at _tollgate.${host}. The challenge URL responded with status 404.`,
    });
    // Any change to a host makes the gateway read all of them again.
    const later = await createProject(owner, { gatewayHost: `later-${host}.example` });
    await expect.poll(() => stage.payeeAt(`later-${host}.example`)).toBe(404);
    await owner.rest('DELETE', later.base);
    const [healthy] = await sendRaw(stage.app.url, [rawRequest('GET /healthz', `Host: ${host}`)]);
    expect(healthy!.status).toBe(200);
  });

  test('is served once the TXT record is published', async () => {
    const shop = await createActive();
    const { body } = await owner.rest<Record<string, unknown>>('GET', shop.base);
    expect(body).toMatchObject({ gatewayHost: host, gatewayUrl: `https://${host}` });
    expect(await stage.status(owner, shop.base)).toMatchObject({ activeHost: host, problem: null, failingSince: null });
    const { rows } = await stage.sql.query(
      `SELECT "action", "actorKind", "changes" FROM "AuditEntry" WHERE "projectId" = $1 AND "action" LIKE 'project.%' ORDER BY "id"`,
      [shop.id],
    );
    expect(rows).toEqual([
      expect.objectContaining({ action: 'project.created', changes: expect.objectContaining({ gatewayHost: host }) }),
      { action: 'project.host_verified', actorKind: 'USER', changes: { gatewayHost: host } },
    ]);
  });

  test('is served once its own server responds to the challenge', async () => {
    const shop = await stage.claim(owner, host);
    stage.respondTo(await stage.status(owner, shop.base));
    expect((await stage.verify(owner, shop.base)).body.gatewayHostStatus).toMatchObject({ status: 'ACTIVE' });
    await expect.poll(() => stage.payeeAt(host)).toBe(WALLET);
  });

  test('is not verified by another project’s token, in DNS or over HTTP', async () => {
    const shop = await stage.claim(owner, host);
    const stall = await stage.claim(stranger, host, { walletAddress: STRANGERS_WALLET });
    const [owners, strangers] = [await stage.status(owner, shop.base), await stage.status(stranger, stall.base)];
    expect(strangers.dnsRecord.value).not.toBe(owners.dnsRecord.value);
    stage.publish(owners);
    stage.respondTo(owners);
    expect((await stage.verify(stranger, stall.base)).body.gatewayHostStatus).toMatchObject({
      status: 'PENDING',
      problem: expect.stringContaining(`No TXT record at _tollgate.${host} has this project's value.`),
    });
  });

  test('goes to the owner who verifies it, even if a stranger claimed it first', async () => {
    const stall = await stage.claim(stranger, host, { walletAddress: STRANGERS_WALLET });
    const shop = await createActive();
    expect((await stage.verify(stranger, stall.base)).body.gatewayHostStatus).toMatchObject({ status: 'PENDING' });
    // A claim that was never verified reserves nothing.
    await stranger.rest('DELETE', stall.base);
    await owner.rest('PATCH', shop.base, { gatewayHost: null });
    expect((await owner.rest('PATCH', shop.base, { gatewayHost: host })).status).toBe(200);
  });

  test('belongs to only one of two projects that verify it at the same time', async () => {
    const shops = [await stage.claim(owner, host), await stage.claim(stranger, host)];
    const users = [owner, stranger];
    const statuses = await Promise.all(shops.map(({ base }, at) => stage.status(users[at]!, base)));
    stage.records.set(
      statuses[0]!.dnsRecord.name,
      statuses.map(({ dnsRecord }) => dnsRecord.value),
    );
    const results = await Promise.all(shops.map(({ base }, at) => stage.verify(users[at]!, base)));
    const found = results.map(({ body }) => body.gatewayHostStatus!);
    expect(found.map(({ status }) => status).sort()).toEqual(['ACTIVE', 'PENDING']);
    expect(found.find(({ status }) => status === 'PENDING')!.problem).toBe('Another project already uses this domain.');
  });

  test('stays with its project until a new one is verified, and then is reserved for the account', async () => {
    const old = host;
    const shop = await createActive();
    host = stage.nextHost();
    await owner.rest('PATCH', shop.base, { gatewayHost: host });
    const status = await stage.status(owner, shop.base);
    expect(status).toMatchObject({ host, status: 'PENDING', activeHost: old });
    await expect.poll(() => stage.payeeAt(old)).toBe(WALLET);
    stage.publish(status);
    await stage.verify(owner, shop.base);
    await expect.poll(() => stage.payeeAt(host)).toBe(WALLET);
    await expect.poll(() => stage.payeeAt(old)).toBe(404);
    const refused = await stranger.rest('POST', '/api/projects', {
      name: 'Stall',
      walletAddress: WALLET,
      gatewayHost: old,
    });
    expect(refused.body).toMatchObject({ code: 'HOST_RESERVED' });
  });

  test('goes to another project if its owner verifies it by DNS after the first owner’s record is gone', async () => {
    const shop = await createActive();
    const stall = await stage.claim(stranger, host, { walletAddress: STRANGERS_WALLET });
    const status = await stage.status(stranger, stall.base);
    stage.records.set(status.dnsRecord.name, [status.dnsRecord.value, shop.status.dnsRecord.value]);
    expect((await stage.verify(stranger, stall.base)).body.gatewayHostStatus!.status).toBe('PENDING');
    stage.records.set(status.dnsRecord.name, 'SERVFAIL');
    stage.respondTo(status);
    expect((await stage.verify(stranger, stall.base)).body.gatewayHostStatus!.status).toBe('PENDING');
    stage.records.delete(status.dnsRecord.name);
    expect((await stage.verify(stranger, stall.base)).body.gatewayHostStatus!.status).toBe('PENDING');
    stage.publish(status);
    expect((await stage.verify(stranger, stall.base)).body.gatewayHostStatus!.status).toBe('ACTIVE');
    await expect.poll(() => stage.payeeAt(host)).toBe(STRANGERS_WALLET);
    expect(await stage.status(owner, shop.base)).toMatchObject({
      status: 'PENDING',
      activeHost: null,
      nextCheckAt: null,
      problem: 'The owner of another project verified that they own the domain.',
    });
    const { rows } = await stage.sql.query(`SELECT "detail" FROM "Notice" WHERE "projectId" = $1`, [shop.id]);
    expect(rows).toEqual([{ detail: 'The owner of another project verified that they own the domain.' }]);
  });

  test('can be read, but not verified, with an API key', async () => {
    const shop = await stage.claim(owner, host);
    const key = stage.app.caller((await createKey(owner, shop.base)).key);
    expect(await stage.status(key, shop.base)).toMatchObject({ host, status: 'PENDING' });
    const refused = await stage.verify(key, shop.base);
    expect([refused.status, refused.body.code]).toEqual([403, 'FORBIDDEN']);
    expect((await stage.verify(stranger, shop.base)).status).toBe(404);
  });

  test('can be checked six times a minute', async () => {
    const shop = await stage.claim(owner, host);
    const statuses = [];
    for (let round = 0; round < 7; round++) statuses.push((await stage.verify(owner, shop.base)).status);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 200, 429]);
  });

  test('needs no verification under a development domain', async () => {
    const shop = await stage.claim(owner, `${host}.test`);
    await expect.poll(() => stage.payeeAt(`${host}.test`)).toBe(WALLET);
    expect(await stage.status(owner, shop.base)).toMatchObject({
      status: 'ACTIVE',
      dnsRecord: null,
      httpChallenge: null,
    });
    const { status, body } = await stage.verify(owner, shop.base);
    expect([status, body.gatewayHostStatus!.status]).toEqual([200, 'ACTIVE']);
  });
});

test.each([
  ['is removed', 'DELETE', undefined, 404],
  ['gets another role', 'PATCH', { role: 'DEVELOPER' }, 403],
])(
  'a check changes nothing if the person who requested it %s before the host’s server responds',
  async (_how, method, body, status) => {
    const { base } = await stage.claim(owner, host);
    const dana = await person(stage.app, `dana-${status}`);
    const { id } = await join(owner, base, dana, 'ADMIN');
    const { httpChallenge } = await stage.status(owner, base);
    const { promise: response, resolve: letGo } = Promise.withResolvers<{ body: string }>();
    stage.web.requests.length = 0;
    stage.web.handle(() => response);
    const checking = stage.verify(dana, base);
    await stage.web.waitFor(1);
    await owner.rest(method, `${base}/members/${id}`, body);
    letGo({ body: httpChallenge!.body });
    expect((await checking).status).toBe(status);
    expect(await stage.status(owner, base)).toMatchObject({ status: 'PENDING', activeHost: null });
    expect((await stage.verify(owner, base)).body.gatewayHostStatus).toMatchObject({ status: 'ACTIVE' });
  },
);
