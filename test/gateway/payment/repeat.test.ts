import { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { PaidRequest } from '../../../src/gateway/payment/paid-request.ts';
import { createRepeat } from '../../../src/gateway/payment/repeat.ts';
import { createResponseMemory } from '../../../src/gateway/payment/response-memory.ts';
import { digestOf } from '../../../src/gateway/upstream/request-body.ts';
import type { Payment } from '../../../src/generated/prisma/client.ts';

type Authorization = PaidRequest['payment']['authorization'];

const MEGABYTE = 1024 * 1024;
const BOUNDS = { maxBytes: 16 * MEGABYTE, maxAddressBytes: 16 * MEGABYTE, maxPaymentBytes: 16 * MEGABYTE };

/** A payment that was charged before the request. Its first call failed, so the buyer can retry the request. */
async function stage(paidBody: Buffer) {
  const open = createResponseMemory(BOUNDS);
  const memory = open('192.0.2.1', 'greedy');
  const sent: Buffer[] = [];
  const repeat = createRepeat({
    ...({} as Pick<Parameters<typeof createRepeat>[0], 'ledger' | 'settler'>),
    async streamPaid(_payment, _transactionHash, { body }) {
      sent.push(...(await body!.toArray()));
      return { statusCode: 200, headers: {}, body: Readable.from([]), ended: Promise.resolve() };
    },
  });
  const payment = {
    id: 'pay_1',
    projectId: 'proj_1',
    status: 'SETTLED',
    settlement: 'BEFORE_REQUEST',
    transactionHash: '0x1',
    servedAt: null,
    callLeasedUntil: null,
    upstreamCallCount: 1,
    nonce: '0x2',
    x402Version: 2,
    payer: '0x3',
    requestFingerprint: await digestOf(Readable.from([paidBody])),
  } as Payment;
  const request = (body: Readable) =>
    ({
      route: { projectId: 'proj_1' } as PaidRequest['route'],
      payment: {
        authorization: { nonce: '0x2' } as Partial<Authorization> as Authorization,
      } as PaidRequest['payment'],
      body,
      memory,
      fingerprint: (digest: string | null) => digest ?? 'no body',
    }) as Partial<PaidRequest> as PaidRequest;
  return { open, memory, sent, retry: (body: Readable) => repeat(payment, request(body)) };
}

/** A body whose end doesn't arrive. */
function unfinished(bytes: number): Readable {
  const body = new Readable({ read() {} });
  for (let sent = 0; sent < bytes; sent += 64 * 1024) body.push(Buffer.alloc(64 * 1024));
  return body;
}

/** Waits until everything that was pushed into a body was read. */
async function read(body: Readable): Promise<void> {
  while (body.readableLength > 0) await turn();
  for (let turns = 0; turns < 10; turns++) await turn();
}

test('the body of a retry makes room for other streams while it is arriving', async () => {
  const { open, retry } = await stage(Buffer.from('paid'));
  const body = unfinished(3 * MEGABYTE);
  const retried = retry(body);
  await read(body);
  // One account can have a third of the firm memory of 12 MB, as if there was no retry.
  expect(open('198.51.100.1', 'stream').take(4 * MEGABYTE)).toBe(true);
  for (let index = 0; index < 5; index++) {
    const call = open(`203.0.113.${index}`, `modest ${index}`);
    call.mayDrop(() => {});
    expect(call.take(2 * MEGABYTE)).toBe(true);
  }
  await expect(retried).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfterSeconds: 1 });
});

test('the body of a retry is firm once it is being sent to the upstream', async () => {
  const paidBody = Buffer.alloc(2 * MEGABYTE, 1);
  const { open, memory, sent, retry } = await stage(paidBody);
  const chunks = Array.from({ length: 32 }, (_, index) => paidBody.subarray(index * 65_536, (index + 1) * 65_536));
  expect(await retry(Readable.from(chunks))).toMatchObject({ statusCode: 200 });
  expect(Buffer.concat(sent).equals(paidBody)).toBe(true);
  const other = open('198.51.100.1', 'a');
  other.mayDrop(() => {});
  let taken = 0;
  while (taken < 16 && other.take(MEGABYTE)) taken += 1;
  expect(taken).toBe(13);
  memory.release();
  expect(other.take(3 * MEGABYTE)).toBe(true);
});
