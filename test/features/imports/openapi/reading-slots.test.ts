import { describe, expect, test } from 'vitest';
import { createReadingSlots } from '../../../../src/features/imports/openapi/reading-slots.ts';

/** Takes slots for documents, and records the order in which documents get one. */
function startTaking() {
  const slots = createReadingSlots();
  const entered: string[] = [];
  const leave = new Map<string, () => void>();
  const refused: unknown[] = [];
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  return {
    entered,
    refused,
    settled,
    /** `a1` is the first document of the account `a`. */
    async take(document: string, signal = new AbortController().signal) {
      slots.take(document[0]!, signal).then(
        (leaveOne) => {
          entered.push(document);
          leave.set(document, leaveOne);
        },
        (error) => refused.push(error),
      );
      await settled();
    },
    async leave(document: string) {
      leave.get(document)!();
      await settled();
    },
  };
}

describe('the slots for reading documents', () => {
  test('are limited to two, at most one of them for the same account', async () => {
    const { entered, take, leave } = startTaking();
    for (const document of ['a1', 'a2', 'b1', 'c1']) await take(document);
    expect(entered).toEqual(['a1', 'b1']);
    await leave('b1');
    expect(entered).toEqual(['a1', 'b1', 'c1']);
    await leave('a1');
    expect(entered).toEqual(['a1', 'b1', 'c1', 'a2']);
  });

  test('go to every account in turn, no matter how many documents one of them has', async () => {
    const { entered, take, leave } = startTaking();
    for (const document of ['a1', 'b1', 'a2', 'a3', 'c1', 'd1']) await take(document);
    for (const document of ['a1', 'c1', 'd1', 'a2', 'b1', 'a3']) await leave(document);
    expect(entered).toEqual(['a1', 'b1', 'c1', 'd1', 'a2', 'a3']);
  });

  test('have a queue with at most three documents from one account', async () => {
    const { entered, refused, settled, take, leave } = startTaking();
    for (const document of ['a1', 'a2', 'a3', 'a4', 'a5', 'b1']) await take(document);
    await settled();
    expect(entered).toEqual(['a1', 'b1']);
    expect(refused).toMatchObject([
      {
        code: 'RATE_LIMITED',
        retryAfterSeconds: 5,
        message: expect.stringMatching(/^4 of your documents are .* wait/),
      },
    ]);
    await leave('a1');
    await take('a6');
    expect(refused).toHaveLength(1);
  });

  test('have a queue with at most 20 documents', async () => {
    const { entered, refused, take } = startTaking();
    for (const account of 'abcdefghijklmnopqrstuvw') await take(`${account}1`);
    expect(entered).toEqual(['a1', 'b1']);
    expect(refused).toMatchObject([{ code: 'UNAVAILABLE', retryAfterSeconds: 5 }]);
  });

  test('leave room in a full queue for accounts with fewer documents', async () => {
    const { entered, refused, settled, take, leave } = startTaking();
    for (const account of 'abcde') for (let count = 1; count <= 4; count++) await take(`${account}${count}`);
    for (const document of ['f1', 'f2', 'g1', 'g2', 'h1']) await take(document);
    await settled();
    // Only the accounts with the most documents lose their newest ones.
    expect(refused).toEqual(Array(3).fill(expect.objectContaining({ code: 'UNAVAILABLE', retryAfterSeconds: 5 })));
    for (const document of ['a1', 'b1', 'c1', 'd1', 'e1', 'f1', 'g1']) await leave(document);
    expect(entered.slice(2, 8)).toEqual(['c1', 'd1', 'e1', 'f1', 'g1', 'h1']);
  });

  test('don’t go to documents whose requests have ended', async () => {
    const { entered, refused, settled, take, leave } = startTaking();
    const controller = new AbortController();
    await take('a1');
    await take('b1');
    await take('c1', controller.signal);
    await take('d1');
    controller.abort();
    await settled();
    expect(refused).toMatchObject([{ code: 'UNAVAILABLE', retryAfterSeconds: 5 }]);
    await leave('a1');
    expect(entered).toEqual(['a1', 'b1', 'd1']);
    await take('e1', controller.signal);
    expect(refused).toHaveLength(2);
  });
});
