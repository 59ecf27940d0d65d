import { Client, cacheExchange, fetchExchange, gql } from 'urql';
import { expect, test } from 'vitest';
import { reloadFirstExchange } from '../../src/console/api/reload-first.ts';

const NAME = gql('{ webhook { name } }');
const RENAME = gql('mutation { rename { name } }');

type Sent = { isMutation: boolean; answer(name: string): void; fail(): void };

/** A client whose requests wait until the test answers them. `names` has what is shown, `done` the mutation's result. */
function open() {
  const sent: Sent[] = [];
  const client = new Client({
    url: 'https://tollgate.test/graphql',
    preferGetMethod: false,
    exchanges: [reloadFirstExchange, cacheExchange, fetchExchange],
    fetch: (_url, init) =>
      new Promise((resolve, reject) => {
        const isMutation = String(init!.body).includes('mutation');
        const respond = (body: object) => resolve(Response.json(body));
        sent.push({
          isMutation,
          answer: (name) => respond({ data: { [isMutation ? 'rename' : 'webhook']: { __typename: 'Webhook', name } } }),
          fail: () => respond({ errors: [{ message: 'Not now.' }] }),
        });
        init!.signal!.addEventListener('abort', () => reject(init!.signal!.reason));
      }),
  });
  const names: unknown[] = [];
  const shown = client.query(NAME, {}, { requestPolicy: 'cache-and-network' });
  const { unsubscribe } = shown.subscribe(({ data, stale }) => stale || names.push(data?.webhook.name));
  const done: unknown[] = [];
  const rename = () => void client.mutation(RENAME, {}).then(({ data }) => done.push(data?.rename.name));
  return { client, sent, names, done, rename, hide: unsubscribe };
}

/** Answers another query after everything that is already under way. */
async function untilIdle(client: Client, sent: Sent[]): Promise<void> {
  const before = sent.length;
  const other = client
    .query(gql('query Other { webhook { name } }'), {}, { requestPolicy: 'network-only' })
    .toPromise();
  await expect.poll(() => sent.length).toBe(before + 1);
  sent[before]!.answer('other');
  await other;
}

test('a mutation ends once the query that shows the changed resource has been answered again', async () => {
  const { client, sent, names, done, rename } = open();
  await expect.poll(() => sent.length).toBe(1);
  sent[0]!.answer('before');
  await expect.poll(() => names).toEqual(['before']);
  rename();
  await expect.poll(() => sent.length).toBe(2);
  sent[1]!.answer('after');
  await expect.poll(() => sent.length).toBe(3);
  await untilIdle(client, sent);
  expect(done).toEqual([]);
  sent[2]!.answer('after');
  await expect.poll(() => done).toEqual(['after']);
  expect(names).toEqual(['before', 'after']);
  expect(sent).toHaveLength(4);
});

test('a query that was sent before the mutation was done is sent again, because it may have read the values from before', async () => {
  const { sent, names, done, rename } = open();
  await expect.poll(() => sent.length).toBe(1);
  rename();
  await expect.poll(() => sent.length).toBe(2);
  expect(sent.map(({ isMutation }) => isMutation)).toEqual([false, true]);
  sent[1]!.answer('after');
  sent[0]!.answer('before');
  await expect.poll(() => sent.length).toBe(3);
  expect(done).toEqual([]);
  sent[2]!.answer('after');
  await expect.poll(() => done).toEqual(['after']);
  expect(names.at(-1)).toBe('after');
});

test.each(['fails', 'is no longer shown'])('a mutation also ends if the query %s', async (how) => {
  const { sent, names, done, rename, hide } = open();
  await expect.poll(() => sent.length).toBe(1);
  sent[0]!.answer('before');
  await expect.poll(() => names).toEqual(['before']);
  rename();
  await expect.poll(() => sent.length).toBe(2);
  sent[1]!.answer('after');
  await expect.poll(() => sent.length).toBe(3);
  if (how === 'fails') sent[2]!.fail();
  else hide();
  await expect.poll(() => done).toEqual(['after']);
});

test('a mutation that fails ends without waiting for anything', async () => {
  const { sent, done, rename } = open();
  await expect.poll(() => sent.length).toBe(1);
  rename();
  await expect.poll(() => sent.length).toBe(2);
  sent[1]!.fail();
  await expect.poll(() => done).toEqual([undefined]);
});
