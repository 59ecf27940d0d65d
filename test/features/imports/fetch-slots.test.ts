import { expect, test } from 'vitest';
import { parseEgressAllow } from '../../../src/egress/allow-list.ts';
import type { Egress } from '../../../src/egress/egress.ts';
import type { AppError } from '../../../src/errors.ts';
import { createDocumentFetcher } from '../../../src/features/imports/fetch-document.ts';

test("four of an account's documents are fetched at the same time, and others don't wait for them", async () => {
  const requests: PromiseWithResolvers<unknown>[] = [];
  const send = () => {
    const request = Promise.withResolvers<unknown>();
    requests.push(request);
    return request.promise;
  };
  const fetchDocument = createDocumentFetcher({ send } as unknown as Egress, parseEgressAllow(''));
  const fetched = (accountId: string) =>
    fetchDocument(accountId, 'https://api.example.com').then(
      ({ text }) => text,
      ({ code }: AppError) => code,
    );

  const own = Array.from({ length: 4 }, () => fetched('a'));
  expect(await Promise.all([fetched('a'), fetched('a')])).toEqual(['RATE_LIMITED', 'RATE_LIMITED']);
  const other = fetched('b');
  for (const request of requests) request.resolve({ statusCode: 200, headers: {}, body: Buffer.from('x') });
  expect(await Promise.all([...own, other])).toEqual(['x', 'x', 'x', 'x', 'x']);
  const next = fetched('a');
  requests.at(-1)!.resolve({ statusCode: 200, headers: {}, body: Buffer.from('y') });
  expect(await next).toBe('y');
});
