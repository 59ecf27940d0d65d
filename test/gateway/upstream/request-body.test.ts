import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { meterBody, readBody } from '../../../src/gateway/upstream/request-body.ts';

const inChunks = (count: number, bytes: number) =>
  readBody(meterBody(Readable.from(Array.from({ length: count }, () => Buffer.alloc(bytes)))), () => true);

test('a body is refused if it arrives in thousands of tiny chunks, because each takes memory of its own', async () => {
  await expect(inChunks(5_000, 1)).rejects.toMatchObject({ code: 'BAD_REQUEST' });
  expect((await inChunks(1_000, 1))!.bytes).toHaveLength(1_000);
  expect((await inChunks(20_000, 20))!.bytes).toHaveLength(400_000);
});
