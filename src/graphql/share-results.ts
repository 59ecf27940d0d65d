import {
  createSourceEventStream,
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  execute,
  getOperationAST,
  Kind,
  visit,
} from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { Viewer } from '../auth/viewer.ts';
import { createSlices, type InSlices } from '../limits/slices.ts';
import type { GraphQLContext } from '../schema/context.ts';
import type { RunOperation } from './deadline.ts';
import { limitResponse } from './response-limit.ts';

/** About what a parsed document takes in memory for each of its tokens, until the subscription ends. */
const TOKEN_BYTES = 360;
/** Smaller documents take less memory than everything else that a subscription needs. */
const FREE_TOKENS = 100;

type Results = Map<string, Promise<ExecutionResult>>;

/**
 * Executes a subscription once per item for everyone who gets the same item and asks for the same fields with the same
 * permissions, such as all of an account's dashboards. Each execution is an operation with its own deadline. Thousands of
 * subscriptions can get the same item, so the executions take turns with other work.
 */
export function shareResults(runOperation: RunOperation, inSlices: InSlices = createSlices()): Plugin {
  const resultsByItem = new WeakMap<object, WeakMap<DocumentNode, Results>>();

  function resultsOf(item: object, document: DocumentNode): Results {
    const byDocument = resultsByItem.get(item) ?? new WeakMap<DocumentNode, Results>();
    resultsByItem.set(item, byDocument);
    const results = byDocument.get(document) ?? new Map();
    byDocument.set(document, results);
    return results;
  }

  async function executeFor(item: unknown, args: ExecutionArgs, key: string): Promise<ExecutionResult> {
    const { viewer } = args.contextValue as GraphQLContext;
    const run = () =>
      inSlices(viewer.userId, async () =>
        limitResponse(await runOperation(viewer, () => execute({ ...args, rootValue: item })), args),
      );
    if (typeof item !== 'object' || item === null) return run();
    const results = resultsOf(item, args.document);
    const shared = results.get(key);
    if (!shared) {
      const result = run();
      results.set(key, result);
      return result;
    }
    const result = await shared;
    // An error contains the ID of the request that it belongs to.
    return result.errors ? run() : result;
  }

  return {
    onSubscribe({ setSubscribeFn }) {
      setSubscribeFn(async (args: ExecutionArgs) => {
        const { backlog } = args.contextValue as GraphQLContext;
        const release = backlog?.reserve(bytesOf(args.document)) ?? (() => {});
        const items = await createSourceEventStream(args).catch((error) => {
          release();
          throw error;
        });
        if (!(Symbol.asyncIterator in items)) {
          release();
          return items;
        }
        const key = keyOf(args);
        return mapItems(items, (item) => executeFor(item, args, key), release);
      });
    },
  };
}

/** What a document takes in memory. Comments are tokens, too, but the parser doesn't count them. */
function bytesOf({ loc }: DocumentNode): number {
  let tokens = 0;
  for (let token = loc?.startToken ?? null; token; token = token.next) tokens += 1;
  return Math.max(0, tokens - FREE_TOKENS) * TOKEN_BYTES;
}

/** Everything that a result depends on, other than the item and the document. */
function keyOf({ document, operationName, variableValues, contextValue }: ExecutionArgs): string {
  const { expiresAt: _, ...viewer }: Viewer = (contextValue as GraphQLContext).viewer;
  const names = variablesInside(document, operationName);
  return JSON.stringify([
    operationName,
    viewer,
    names.map((name) => (variableValues && name in variableValues ? [variableValues[name]] : [])),
  ]);
}

/** The variables that are used anywhere except in the arguments of the subscription itself, which only select items. */
function variablesInside(document: DocumentNode, operationName: string | null | undefined): string[] {
  const roots = getOperationAST(document, operationName)?.selectionSet.selections ?? [];
  const names = new Set<string>();
  visit(document, {
    VariableDefinition: () => false,
    Argument: (_node, _key, siblings) =>
      roots.some((root) => root.kind === Kind.FIELD && siblings === root.arguments) ? false : undefined,
    Variable({ name }) {
      names.add(name.value);
    },
  });
  return [...names].sort();
}

/** @param onEnd called when the results end, at least once. */
function mapItems<Item, Result>(
  items: AsyncIterable<Item>,
  map: (item: Item) => Promise<Result>,
  onEnd: () => void,
): AsyncIterableIterator<Result> {
  const iterator = items[Symbol.asyncIterator]();
  return {
    async next() {
      try {
        const { done, value } = await iterator.next();
        if (!done) return { done, value: await map(value) };
        onEnd();
        return { done, value: undefined };
      } catch (error) {
        onEnd();
        await iterator.return?.();
        throw error;
      }
    },
    async return() {
      onEnd();
      await iterator.return?.();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
