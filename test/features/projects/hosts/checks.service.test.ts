import pino from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createNoticeChecks } from '../../../../src/features/notices/checks.ts';
import type { HostChecker } from '../../../../src/features/projects/hosts/checks.ts';
import { rawRequest } from '../../../gateway/sign.ts';
import type { TestUser } from '../../../support/app.ts';
import { sendRaw } from '../../../support/raw-http.ts';
import { WALLET } from '../../../support/resources.ts';
import { type HostStage, openHostStage } from './stage.ts';

let stage: HostStage;
let owner: TestUser;
let worker: HostChecker;
let shop: Awaited<ReturnType<HostStage['claim']>>;
let host: string;

beforeAll(async () => {
  stage = await openHostStage();
  owner = await stage.app.user('owner');
  worker = await stage.openProcess();
});
afterAll(() => stage?.close());
beforeEach(async () => {
  host = stage.nextHost();
  stage.web.handle(() => ({ statusCode: 404 }));
  shop = await stage.claim(owner, host);
  // The host of the test before may just have been checked.
  await stage.letPass(host, '0');
  stage.publish(await status());
});

const status = () => stage.status(owner, shop.base);
const record = () => `_tollgate.${host}`;
const checkNotices = () =>
  createNoticeChecks({ retentionDays: 90, log: pino({ level: 'silent' }) })(stage.sql as never);
const notices = async () =>
  (
    await stage.sql.query(
      `SELECT "type", "subject", "detail", "closedAt" IS NULL AS "isOpen" FROM "Notice" WHERE "projectId" = $1 ORDER BY "id"`,
      [shop.id],
    )
  ).rows;
const hoursUntil = (time: string | null) => (Date.parse(time!) - Date.now()) / 3_600_000;

async function pass(interval: string): Promise<void> {
  await stage.letPass(host, interval);
  await worker.checkDue();
}

describe('accounts with many hosts', () => {
  async function claimMany(user: TestUser, count: number) {
    const hosts = Array.from({ length: count }, () => stage.nextHost());
    for (const name of hosts) {
      await stage.claim(user, name);
      await stage.letPass(name, '1 day');
    }
    return hosts.map((name) => `TXT _tollgate.${name}`);
  }

  test("don't delay the checks of other accounts", async () => {
    const asked = stage.dns.questions.length;
    const many = await claimMany(await stage.app.user('many'), 15);
    await stage.letPass(host, '1 hour');
    await worker.checkDue();
    const questions = stage.dns.questions.slice(asked);
    expect(questions.slice(0, 3)).toContain(`TXT ${record()}`);
    expect(questions.filter((question) => many.includes(question))).toHaveLength(10);
    await worker.checkDue();
    expect(stage.dns.questions.slice(asked)).toEqual(expect.arrayContaining(many));
  });

  test('are checked some minutes later if another of their hosts was just checked, however often the host changes', async () => {
    const busy = await stage.app.user('busy');
    const stall = await stage.claim(busy, stage.nextHost());
    await worker.checkDue();
    const asked = stage.dns.questions.length;
    for (let change = 0; change < 3; change++) {
      const gatewayHost = stage.nextHost();
      expect((await busy.rest('PATCH', stall.base, { gatewayHost })).status).toBe(200);
      await worker.checkDue();
      const { nextCheckAt } = await stage.status(busy, stall.base);
      expect(hoursUntil(nextCheckAt) * 60).toBeGreaterThan(3);
      expect(hoursUntil(nextCheckAt) * 60).toBeLessThanOrEqual(5);
    }
    const second = await stage.claim(busy, stage.nextHost());
    await worker.checkDue();
    expect((await stage.status(busy, second.base)).problem).toBeNull();
    expect(stage.dns.questions).toHaveLength(asked);
    expect((await stage.verify(busy, second.base)).body.gatewayHostStatus!.problem).not.toBeNull();
  });
});

describe('a host that is checked automatically', () => {
  test('becomes active when its owner publishes the record, and is then checked daily', async () => {
    await worker.checkDue();
    const active = await status();
    expect(active).toMatchObject({ status: 'ACTIVE', activeHost: host, problem: null });
    expect(hoursUntil(active.nextCheckAt)).toBeGreaterThan(21);
    expect(hoursUntil(active.nextCheckAt)).toBeLessThan(26.5);
    const asked = stage.dns.questions.length;
    await worker.checkDue();
    expect(stage.dns.questions).toHaveLength(asked);
    await pass('1 day');
    expect(stage.dns.questions.slice(asked)).toEqual([`TXT ${record()}`]);
  });

  test('is checked every hour for three days, daily for a month, and then only on request, until it is verified', async () => {
    stage.records.delete(record());
    await worker.checkDue();
    expect(hoursUntil((await status()).nextCheckAt)).toBeLessThan(1.2);
    await pass('4 days');
    expect(hoursUntil((await status()).nextCheckAt)).toBeGreaterThan(21);
    await pass('27 days');
    expect(await status()).toMatchObject({ status: 'PENDING', nextCheckAt: null });
    stage.records.set(record(), [(await status()).dnsRecord.value]);
    expect((await stage.verify(owner, shop.base)).body.gatewayHostStatus).toMatchObject({ status: 'ACTIVE' });
  });

  test('is lost after a week of failures, with one notice at the first failure and another when it is lost', async () => {
    await worker.checkDue();
    stage.records.delete(record());
    await pass('1 day');
    expect(await status()).toMatchObject({
      status: 'FAILING',
      activeHost: host,
      failingSince: expect.any(String),
      problem: `There is no TXT record at ${record()}. The challenge URL responded with status 404.`,
    });
    await checkNotices();
    expect(await notices()).toEqual([{ type: 'host.failing', subject: host, detail: null, isOpen: true }]);
    await pass('6 days 23 hours');
    await checkNotices();
    expect(await stage.payeeAt(host)).toBe(WALLET);
    expect(await status()).toMatchObject({ status: 'FAILING' });
    await pass('1 hour');
    await checkNotices();
    await expect.poll(() => stage.payeeAt(host)).toBe(404);
    expect(await status()).toMatchObject({ status: 'PENDING', activeHost: null, failingSince: null });
    expect(await notices()).toEqual([
      { type: 'host.failing', subject: host, detail: null, isOpen: false },
      {
        type: 'host.lost',
        subject: host,
        isOpen: false,
        detail: `It couldn't be verified for 7 days. There is no TXT record at ${record()}. The challenge URL responded with status 404.`,
      },
    ]);
    // Others can take the name immediately, and the owner gets it back by verifying it again.
    const { rows } = await stage.sql.query('SELECT FROM "ReleasedHost" WHERE "host" = $1', [host]);
    expect(rows).toEqual([]);
    stage.publish(await status());
    await pass('1 hour');
    expect(await status()).toMatchObject({ status: 'ACTIVE', activeHost: host });
  });

  test('recovers when a check succeeds within the week, and the failures before then no longer count', async () => {
    await worker.checkDue();
    const published = await status();
    stage.records.delete(record());
    await pass('1 day');
    await checkNotices();
    stage.publish(published);
    await pass('5 days');
    await checkNotices();
    expect(await status()).toMatchObject({ status: 'ACTIVE', failingSince: null, problem: null });
    expect(await notices()).toMatchObject([{ type: 'host.failing', isOpen: false }]);
    stage.records.delete(record());
    await pass('3 days');
    expect(await status()).toMatchObject({ status: 'FAILING', activeHost: host });
  });

  test('does not fail while name servers don’t respond, unless that lasts for two days', async () => {
    await worker.checkDue();
    stage.records.set(record(), 'SERVFAIL');
    await pass('1 day');
    expect(await status()).toMatchObject({
      status: 'ACTIVE',
      failingSince: null,
      problem: `The name servers for ${record()} didn't respond. The challenge URL responded with status 404.`,
    });
    await pass('1 day');
    expect(await status()).toMatchObject({ status: 'FAILING', failingSince: expect.any(String) });
  });

  test('does not fail for a day if its web server is down', async () => {
    await worker.checkDue();
    stage.records.delete(record());
    stage.web.handle(() => ({ statusCode: 503 }));
    await pass('1 day');
    expect(await status()).toMatchObject({ status: 'ACTIVE', failingSince: null });
  });

  test('stays active without its record while it points to the gateway', async () => {
    await worker.checkDue();
    await expect.poll(() => stage.payeeAt(host)).toBe(WALLET);
    stage.records.delete(record());
    let served = 0;
    stage.web.handle(async ({ path, headers }) => {
      const [response] = await sendRaw(stage.app.url, [rawRequest(`GET ${path}`, `Host: ${headers.host}`)]);
      served += 1;
      return { statusCode: response!.status, body: response!.text };
    });
    await pass('1 day');
    expect(served).toBe(1);
    expect(await status()).toMatchObject({ status: 'ACTIVE', failingSince: null, problem: null });
    // The gateway responds only to the challenge of the project that has the host.
    const { httpChallenge } = await status();
    const { pathname } = new URL(httpChallenge.url);
    const ask = async (path: string, name: string) =>
      (await sendRaw(stage.app.url, [rawRequest(`GET ${path}`, `Host: ${name}`)]))[0]!.status;
    expect(await ask(pathname, host)).toBe(200);
    expect(await ask(`${pathname}0`, host)).toBe(404);
    expect(await ask(pathname, 'localhost')).toBe(404);
  });

  test('is checked by only one of several processes', async () => {
    const others = await Promise.all([1, 2, 3].map(() => stage.openProcess()));
    const asked = stage.dns.questions.length;
    await Promise.all([worker, ...others].map((process) => process.checkDue()));
    expect(stage.dns.questions.slice(asked).filter((question) => question.endsWith(record()))).toHaveLength(1);
    expect(await status()).toMatchObject({ status: 'ACTIVE' });
  });

  test('never takes a host from another project', async () => {
    await worker.checkDue();
    const stranger = await stage.app.user('stranger');
    const stall = await stage.claim(stranger, host);
    stage.publish(await stage.status(stranger, stall.base));
    await worker.checkDue();
    expect(await stage.status(stranger, stall.base)).toMatchObject({
      status: 'PENDING',
      problem: 'Another project already uses this domain.',
    });
    expect(await status()).toMatchObject({ status: 'ACTIVE', activeHost: host });
  });

  test('counts as verified if a process running an earlier version set it', async () => {
    await stage.sql.query(`DELETE FROM "HostClaim" WHERE "projectId" = $1`, [shop.id]);
    await stage.sql.query(`UPDATE "Project" SET "gatewayHost" = $2, "claimedHost" = NULL WHERE "id" = $1`, [
      shop.id,
      host,
    ]);
    await worker.checkDue();
    expect(await status()).toMatchObject({ status: 'ACTIVE', dnsRecord: { name: record() } });
  });
});
