import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { leaseOf } from '../../../src/features/payments/lease.ts';
import type { NewPayment } from '../../../src/features/payments/payment-record.ts';
import { newId } from '../../../src/ids.ts';
import { caller, startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { createKey, createProject, type Resource } from '../../support/resources.ts';
import { openRest, type Rest } from '../../support/rest.ts';
import { claimed, hex, newPayment, openTestLedger, sent, settled, type TestLedger, USDC } from './support.ts';

let app: TestApp;
let rest: Rest;
let books: TestLedger;
let alice: TestUser;
let project: Resource & { base: string };

beforeAll(async () => {
  app = await startTestApp();
  rest = await openRest(app);
  books = await openTestLedger({ url: app.databaseUrl });
  alice = await app.user('alice');
  project = await createProject(alice);
});

afterAll(async () => {
  await books?.close();
  await app?.stop();
});

type Page = { data: Resource[]; nextCursor: string | null };
type PaymentNode = Record<string, unknown> & { id: string };

const pay = (changes: Partial<NewPayment> = {}) => settled(books.ledger, newPayment(project.id, changes));
const fail = async (changes: Partial<NewPayment> = {}) =>
  books.ledger.failed(leaseOf(await claimed(books.ledger, newPayment(project.id, changes))), {
    stage: 'VERIFY',
    reason: 'invalid_exact_evm_signature',
    message: 'The signature is not the payer’s.',
  });

describe('a payment', () => {
  test('has every documented field over REST', async () => {
    const payment = await pay({ amountAtomic: 12_345_678n });
    const { status, body } = await rest.send(alice, 'GET', `${project.base}/payments/${payment.id}`);
    expect(status).toBe(200);
    expect(body).toEqual({
      id: payment.id,
      projectId: project.id,
      endpointId: payment.endpointId,
      endpointPath: '/weather',
      method: 'GET',
      customerId: payment.customerId,
      status: 'SETTLED',
      failureStage: null,
      failureReason: null,
      failureMessage: null,
      amountUsd: '12.345678',
      amountAtomic: '12345678',
      asset: 'USDC',
      assetAddress: USDC,
      network: 'eip155:84532',
      payer: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/),
      payTo: project.walletAddress,
      nonce: payment.nonce,
      x402Version: 2,
      identifier: null,
      settlement: 'AFTER_RESPONSE',
      unservedReason: null,
      upstreamCallCount: null,
      upstreamStatusCode: 200,
      upstreamDurationMs: 12,
      transactionHash: payment.transactionHash,
      explorerUrl: `https://sepolia.basescan.org/tx/${payment.transactionHash}`,
      validBefore: payment.validBefore.toISOString(),
      createdAt: payment.createdAt.toISOString(),
      verifiedAt: expect.any(String),
      servedAt: expect.any(String),
      settledAt: payment.settledAt!.toISOString(),
      updatedAt: payment.updatedAt.toISOString(),
    });
    expect((body.payer as string).toLowerCase()).toBe(payment.payer);
  });

  test('has the stage and the reason, and no explorer page, if it failed', async () => {
    const { id } = await fail();
    const { body } = await rest.send(alice, 'GET', `${project.base}/payments/${id}`);
    expect(body).toMatchObject({
      status: 'FAILED',
      failureStage: 'VERIFY',
      failureReason: 'invalid_exact_evm_signature',
      failureMessage: 'The signature is not the payer’s.',
      customerId: null,
      transactionHash: null,
      explorerUrl: null,
    });
  });

  test('has no explorer page on a network without a well-known explorer', async () => {
    const { id } = await pay({ network: 'eip155:31337' });
    const { body } = await rest.send(alice, 'GET', `${project.base}/payments/${id}`);
    expect(body).toMatchObject({ explorerUrl: null, transactionHash: expect.stringMatching(/^0x/) });
  });

  test('has no explorer page on the local chain of the sandbox', async () => {
    const { id, transactionHash } = await pay();
    const sandbox = await startTestApp({
      databaseUrl: app.databaseUrl,
      dataDir: app.dataDir,
      env: { ROLES: 'api' },
      config: { sandbox: true },
    });
    try {
      const { body } = await caller(sandbox.url, '', alice.token).rest('GET', `${project.base}/payments/${id}`);
      expect(body).toMatchObject({ explorerUrl: null, transactionHash });
    } finally {
      await sandbox.stop();
    }
  });

  test('is a node with a link to its customer and back', async () => {
    const payment = await pay();
    const { data, errors } = await alice.graphql<{ node: PaymentNode }>(
      `query ($id: ID!) { node(id: $id) { ... on Payment { id amountUsd status
        customer { id walletAddress paymentCount totalUsd payments { nodes { id } } } } } }`,
      { id: payment.id },
    );
    expect(errors).toBeUndefined();
    expect(data?.node).toMatchObject({
      id: payment.id,
      amountUsd: '0.01',
      status: 'SETTLED',
      customer: {
        id: payment.customerId,
        paymentCount: 1,
        totalUsd: '0.01',
        payments: { nodes: [{ id: payment.id }] },
      },
    });
  });

  test('never shows the signed authorization', async () => {
    const { data } = await alice.graphql<{ __type: { fields: { name: string }[] } }>(
      '{ __type(name: "Payment") { fields { name } } }',
    );
    const names = data!.__type.fields.map(({ name }) => name);
    expect(names).toContain('nonce');
    for (const secret of ['authorization', 'signature', 'requestFingerprint', 'answer', 'leaseToken'])
      expect(names).not.toContain(secret);
  });
});

describe('payments', () => {
  let shop: Resource & { base: string };
  const endpointId = newId('Endpoint');
  const payer = hex(20);
  let made: { settled: string[]; failed: string; open: string; unknown: string };
  let transactionHash: string;

  beforeAll(async () => {
    shop = await createProject(alice);
    const input = (changes: Partial<NewPayment> = {}) => newPayment(shop.id, changes);
    const first = await settled(books.ledger, input({ payer, endpointId }));
    const second = await settled(books.ledger, input({ payer, amountAtomic: 5_000_000n }));
    const third = await settled(books.ledger, input({ endpointId, amountAtomic: 1n }));
    const failed = leaseOf(await claimed(books.ledger, input({ payer })));
    await books.ledger.verified(failed);
    await books.ledger.failed(failed, { stage: 'UPSTREAM', reason: 'expired', message: 'Too late.' });
    const open = await claimed(books.ledger, input());
    const unknown = await sent(books.ledger, input());
    await books.ledger.unknown(unknown, { reason: 'timeout' });
    transactionHash = second.transactionHash!;
    made = {
      settled: [first.id, second.id, third.id],
      failed: failed.paymentId,
      open: open.id,
      unknown: unknown.paymentId,
    };
  });

  const ids = async (query: string) => {
    const { status, body } = await rest.send<Page>(alice, 'GET', `${shop.base}/payments?${query}`);
    expect(status).toBe(200);
    return body.data.map(({ id }) => id);
  };

  test('are listed newest first, with every filter', async () => {
    const [first, second, third] = made.settled as [string, string, string];
    expect(await ids('')).toEqual([made.unknown, made.open, made.failed, third, second, first]);
    expect(await ids('status=SETTLED')).toEqual([third, second, first]);
    expect(await ids('status=FAILED,UNKNOWN')).toEqual([made.unknown, made.failed]);
    expect(await ids('status=FAILED&status=CLAIMED')).toEqual([made.open, made.failed]);
    expect(await ids(`endpointId=${endpointId}`)).toEqual([third, first]);
    expect(await ids(`payer=${payer.toUpperCase().replace('0X', '0x')}`)).toEqual([made.failed, second, first]);
    expect(await ids(`transactionHash=${transactionHash}`)).toEqual([second]);
    const { customerId } = (await books.db.prisma.payment.findUnique({ where: { id: first } }))!;
    expect(await ids(`customerId=${customerId}`)).toEqual([made.failed, second, first]);
    expect(await ids(`customerId=${customerId}&endpointId=${endpointId}&status=SETTLED`)).toEqual([first]);
  });

  test('can be filtered by a time range with an inclusive start and an exclusive end', async () => {
    const rows = await books.db.prisma.payment.findMany({ where: { projectId: shop.id }, orderBy: { id: 'asc' } });
    for (const { createdAt } of rows) {
      const at = createdAt.getTime();
      const since = rows.filter((row) => row.createdAt.getTime() >= at).map(({ id }) => id);
      const before = rows.filter((row) => row.createdAt.getTime() < at).map(({ id }) => id);
      expect(await ids(`from=${createdAt.toISOString()}`)).toEqual(since.toReversed());
      expect(await ids(`to=${createdAt.toISOString()}`)).toEqual(before.toReversed());
    }
    expect(await ids('from=0001-01-01T00:00:00Z&to=9999-01-01T00:00:00Z')).toHaveLength(6);
    expect(await ids('from=9999-01-01T00:00:00Z')).toEqual([]);
  });

  test('keep their filters from page to page', async () => {
    const { body, headers } = await rest.send<Page>(alice, 'GET', `${shop.base}/payments?limit=2&status=SETTLED`);
    expect(body.data.map(({ id }) => id)).toEqual(made.settled.slice(1).toReversed());
    const [, next] = /<(.+)>; rel="next"/.exec(headers.get('link')!)!;
    const rest2 = await rest.send<Page>(alice, 'GET', next!);
    expect(rest2.body).toMatchObject({ data: [{ id: made.settled[0] }], nextCursor: null });
  });

  test.each([
    ['status=DONE', '/status/0'],
    ['payer=0x12', '/payer'],
    ['transactionHash=0x12', '/transactionHash'],
    ['from=yesterday', '/from'],
  ])('reject the filter %s', async (query, pointer) => {
    const { status, body } = await rest.send(alice, 'GET', `${shop.base}/payments?${query}`);
    expect(status).toBe(422);
    expect(body.errors).toMatchObject([{ pointer }]);
  });

  test('can be read with an API key of the project, like their customers and revenue', async () => {
    const payment = await pay();
    const key = app.caller((await createKey(alice, project.base)).key);
    expect((await rest.send(key, 'GET', `${project.base}/payments/${payment.id}`)).status).toBe(200);
    expect((await rest.send(key, 'GET', `${project.base}/customers/${payment.customerId}`)).status).toBe(200);
    expect((await rest.send(key, 'GET', `${project.base}/revenue`)).status).toBe(200);
  });

  test('have totals, both overall and for a filter', async () => {
    const { data, errors } = await alice.graphql<{ project: Record<string, unknown> }>(
      `query ($id: ID!, $filter: PaymentFilter) { project(id: $id) {
        all: paymentTotals { paymentCount settledCount settledUsd settledAtomic failedCount openCount }
        some: paymentTotals(filter: $filter) { paymentCount settledUsd failedCount }
        none: paymentTotals(filter: { from: "2099-01-01T00:00:00Z" }) { paymentCount settledUsd }
      } }`,
      { id: shop.id, filter: { payer } },
    );
    expect(errors).toBeUndefined();
    expect(data!.project).toEqual({
      all: {
        paymentCount: 6,
        settledCount: 3,
        settledUsd: '5.010001',
        settledAtomic: '5010001',
        failedCount: 1,
        openCount: 2,
      },
      some: { paymentCount: 3, settledUsd: '5.01', failedCount: 1 },
      none: { paymentCount: 0, settledUsd: '0' },
    });
  });
});

describe('another account', () => {
  test("can't see payments, customers, or revenue, or tell whether they exist", async () => {
    const payment = await pay();
    const mallory = await app.user('mallory');
    const own = await createProject(mallory);
    const ownKey = app.caller((await createKey(mallory, own.base)).key);
    const paths = (base: string, paymentId: string, customerId: string) => [
      `${base}/payments`,
      `${base}/payments/${paymentId}`,
      `${base}/customers`,
      `${base}/customers/${customerId}`,
      `${base}/customers/${customerId}/payments`,
      `${base}/revenue`,
    ];
    const foreign = [
      ...paths(project.base, payment.id, payment.customerId!),
      `${own.base}/payments/${payment.id}`,
      `${own.base}/customers/${payment.customerId}`,
      `${own.base}/customers/${payment.customerId}/payments`,
    ];
    const missing = paths(`/api/projects/${newId('Project')}`, newId('Payment'), newId('Customer'));
    const responses = [];
    for (const caller of [mallory, ownKey]) {
      for (const path of [...foreign, ...missing]) {
        const { status, body } = await rest.send(caller, 'GET', path);
        expect(status, path).toBe(404);
        const { requestId, instance, ...same } = body;
        responses.push(same);
      }
      expect((await rest.send(caller, 'GET', own.base)).status).toBe(200);
      expect((await rest.send<Page>(caller, 'GET', `${own.base}/payments`)).body.data).toEqual([]);
      const filters = [
        `customerId=${payment.customerId}`,
        `payer=${payment.payer}`,
        `transactionHash=${payment.transactionHash}`,
      ];
      for (const filter of filters)
        expect((await rest.send<Page>(caller, 'GET', `${own.base}/payments?${filter}`)).body.data).toEqual([]);
    }
    expect(new Set(responses.map((response) => JSON.stringify(response))).size).toBe(1);
  });

  test('gets null for nodes of payments and customers', async () => {
    const payment = await pay();
    const mallory = await app.user('mallory');
    for (const id of [payment.id, payment.customerId]) {
      const { data } = await mallory.graphql('query ($id: ID!) { node(id: $id) { id } }', { id });
      expect(data).toEqual({ node: null });
    }
  });
});
