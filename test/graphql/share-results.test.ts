import {
  buildSchema,
  type ExecutionArgs,
  type ExecutionResult,
  GraphQLError,
  type GraphQLSchema,
  parse,
} from 'graphql';
import { beforeEach, describe, expect, test } from 'vitest';
import { shareResults } from '../../src/graphql/share-results.ts';
import { createBacklogs } from '../../src/limits/backlog.ts';
import { createSlices } from '../../src/limits/slices.ts';

type Results = AsyncIterableIterator<ExecutionResult>;
type Subscribe = (args: ExecutionArgs) => Promise<Results>;

const ALICE = { kind: 'user', userId: 'usr_alice', tier: 'PRO', requestsPerMinute: null, expiresAt: new Date() };
const DOCUMENT = parse(`subscription ($after: String, $size: Int = 1) {
  added(after: $after) { name(size: $size) }
}`);

/** The items that every subscription gets, and how often their names were resolved. */
let items: { fails?: boolean }[];
let resolved: number;
let schema: GraphQLSchema;
let subscribe: Subscribe;

beforeEach(() => {
  items = [{}];
  resolved = 0;
  schema = buildSchema(`
    type Item { name(size: Int): String }
    type Query { item: Item }
    type Subscription { added(after: String): Item }
  `);
  const { added } = schema.getSubscriptionType()!.getFields();
  added!.subscribe = async function* () {
    yield* items;
  };
  added!.resolve = (item) => item;
  const { name } = (schema.getType('Item') as ReturnType<GraphQLSchema['getQueryType']>)!.getFields();
  name!.resolve = ({ fails }: { fails?: boolean }, { size }, { requestId }: { requestId: string }) => {
    resolved += 1;
    if (fails) throw new GraphQLError('It failed.', { extensions: { requestId } });
    return 'x'.repeat(size);
  };
  // Each execution takes a millisecond.
  const plugin = shareResults(async (_viewer, work) => work(), createSlices({ now: () => resolved }));
  plugin.onSubscribe!({ setSubscribeFn: (wrapped: unknown) => (subscribe = wrapped as Subscribe) } as never);
});

let requests = 0;
async function resultsOf(args: Partial<ExecutionArgs> & { viewer?: object } = {}): Promise<ExecutionResult[]> {
  const { viewer = ALICE, ...rest } = args;
  const contextValue = { viewer, requestId: `req_${++requests}` };
  const results: ExecutionResult[] = [];
  for await (const result of await subscribe({ schema, document: DOCUMENT, contextValue, ...rest })) {
    results.push(result);
  }
  return results;
}

describe('a result is shared by subscriptions', () => {
  test('with the same document, variables, and viewer', async () => {
    const [one] = await resultsOf();
    const [two] = await resultsOf({
      contextValue: { viewer: { ...ALICE, expiresAt: new Date(0) }, requestId: 'other' },
    });
    expect(one).toEqual({ data: { added: { name: 'x' } } });
    expect(two).toBe(one);
    expect(resolved).toBe(1);
  });

  test('that start from different cursors', async () => {
    const [one] = await resultsOf({ variableValues: { after: 'a' } });
    expect(await resultsOf({ variableValues: { after: 'b' } })).toEqual([one]);
    expect(resolved).toBe(1);
  });

  test('even if they ask at the same time', async () => {
    await Promise.all([resultsOf(), resultsOf(), resultsOf()]);
    expect(resolved).toBe(1);
  });
});

describe('a result is not shared', () => {
  test.each([
    ['another user', { viewer: { ...ALICE, userId: 'usr_bob' } }],
    ["the user's API key", { viewer: { ...ALICE, kind: 'apiKey', apiKeyId: 'key_1', projectId: 'prj_1' } }],
    ['other variables', { variableValues: { size: 2 } }],
    ['another document', { document: parse('subscription { added { name(size: 1) } }') }],
  ])('with %s', async (_who, args) => {
    await resultsOf();
    await resultsOf(args);
    expect(resolved).toBe(2);
  });

  test('with another operation from the same document', async () => {
    const document = parse(`
      subscription One { added { name(size: 1) } }
      subscription Two { added { other: name(size: 2) } }
    `);
    const [one] = await resultsOf({ document, operationName: 'One' });
    const [two] = await resultsOf({ document, operationName: 'Two' });
    expect([one, two].map((result) => result!.data!.added)).toEqual([{ name: 'x' }, { other: 'xx' }]);
  });

  test('if it has an error, because errors contain a request ID', async () => {
    items = [{ fails: true }];
    const [[one], [two]] = await Promise.all([resultsOf(), resultsOf()]);
    const requestIds = [one, two].map((result) => result!.errors![0]!.extensions.requestId);
    expect(new Set(requestIds).size).toBe(2);
  });

  test('for another item with the same content', async () => {
    items = [{}, {}];
    await resultsOf();
    expect(resolved).toBe(2);
  });
});

test('a subscription that cannot start returns its errors', async () => {
  schema.getSubscriptionType()!.getFields().added!.subscribe = () => {
    throw new GraphQLError('Not found.');
  };
  const result = await subscribe({ schema, document: DOCUMENT, contextValue: { viewer: ALICE } });
  expect(result).toMatchObject({ errors: [{ message: 'Not found.' }] });
});

test('a subscription that ends stops its source', async () => {
  let isStopped = false;
  schema.getSubscriptionType()!.getFields().added!.subscribe = async function* () {
    try {
      yield {};
      yield {};
    } finally {
      isStopped = true;
    }
  };
  const results = await subscribe({ schema, document: DOCUMENT, contextValue: { viewer: ALICE } });
  await results.next();
  await results.return!();
  expect(isStopped).toBe(true);
});

test('thousands of subscriptions that get the same item don’t keep the process from doing other work', async () => {
  const perTurn: number[] = [];
  let counted = 0;
  const countTurn = () => {
    perTurn.push(resolved - counted);
    counted = resolved;
    if (counted < 1_000) setImmediate(countTurn);
  };
  setImmediate(countTurn);
  const documents = Array.from({ length: 1_000 }, () => parse('subscription { added { name } }'));
  await Promise.all(documents.map((document) => resultsOf({ document })));
  expect(Math.max(...perTurn, resolved - counted)).toBe(10);
});

describe('the memory of a parsed document counts as waiting', () => {
  const withMore = (more: string) => parse(`subscription S { added { name } } ${more}`);
  const comments = () => withMore('#\n'.repeat(3_000));
  const contextWith = (backlogs: ReturnType<typeof createBacklogs>) => ({
    viewer: ALICE,
    backlog: backlogs.open(ALICE.userId, { drop: () => 0, cut: () => {} }),
  });

  test.each([
    [
      'other operations',
      withMore(Array.from({ length: 500 }, (_, index) => `query Q${index} { item { name } }`).join(' ')),
    ],
    ['comments', comments()],
  ])('if it is large because of %s, until the subscription ends', async (_what, document) => {
    const backlogs = createBacklogs();
    const results = await subscribe({ schema, document, operationName: 'S', contextValue: contextWith(backlogs) });
    await results.next();
    expect(backlogs.bytes()).toBeGreaterThan(1_000_000);
    await results.next();
    expect(backlogs.bytes()).toBe(0);
  });

  test('until the client stops the subscription', async () => {
    const backlogs = createBacklogs();
    const document = comments();
    const results = await subscribe({ schema, document, contextValue: contextWith(backlogs) });
    await results.return!();
    expect(backlogs.bytes()).toBe(0);
  });

  test('not if the subscription can’t start', async () => {
    schema.getSubscriptionType()!.getFields().added!.subscribe = () => {
      throw new GraphQLError('Not found.');
    };
    const backlogs = createBacklogs();
    await subscribe({ schema, document: comments(), contextValue: contextWith(backlogs) });
    expect(backlogs.bytes()).toBe(0);
  });

  test('so an account that holds too much loses streams', async () => {
    const dropped: string[] = [];
    const backlogs = createBacklogs({ onDrop: (reason) => void dropped.push(reason) });
    for (let count = 0; count < 20; count++) {
      const document = comments();
      await subscribe({ schema, document, contextValue: contextWith(backlogs) });
    }
    expect(dropped).toContain('account');
    expect(backlogs.bytes()).toBeLessThanOrEqual(16 * 1024 * 1024);
  });

  test('not if it is small', async () => {
    const backlogs = createBacklogs();
    const results = await subscribe({ schema, document: DOCUMENT, contextValue: contextWith(backlogs) });
    expect(backlogs.bytes()).toBe(0);
    await results.return!();
  });
});
