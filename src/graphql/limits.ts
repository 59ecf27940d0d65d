import { maxAliasesPlugin } from '@escape.tech/graphql-armor-max-aliases';
import { maxDepthPlugin } from '@escape.tech/graphql-armor-max-depth';
import { maxDirectivesPlugin } from '@escape.tech/graphql-armor-max-directives';
import { complexityFromQuery } from '@pothos/plugin-complexity';
import { type DocumentNode, type ExecutionArgs, type ExecutionResult, getOperationAST, Kind, print } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { AppError } from '../errors.ts';
import { createTurns, type TurnOptions } from '../limits/turns.ts';
import { withinDeadline } from '../operation.ts';
import type { GraphQLContext } from '../schema/context.ts';
import { MAX_COST, MAX_ITEM_COST } from '../schema/cost.ts';
import { checkVariables } from './check-variables.ts';
import { deadlinePlugin, type RunOperation } from './deadline.ts';
import { priceIntrospection } from './introspection.ts';
import { responseLimitPlugin } from './response-limit.ts';

export const MAX_LENGTH = 32_768;
export const MAX_TOKENS = 3_000;
const MAX_DEPTH = 10;
const MAX_ALIASES = 30;
const MAX_DIRECTIVES = 20;
/** Documents that cost more than this, about a megabyte, take turns. */
const MAX_COST_WITHOUT_TURN = 1_000;
/** An expensive document keeps the process busy for up to half a second, and for longer if there is other work. */
const TURN_MILLISECONDS = 2_000;
/** The number of errors to report for a document. */
const MAX_ERRORS = 5;

/** Limits what one document can request. The REST API's own documents have no maximum cost, but expensive ones take turns. */
export function limitPlugins(
  isOwn: (document: DocumentNode) => boolean,
  runOperation: RunOperation,
  turns?: TurnOptions,
): Plugin[] {
  return [
    lengthPlugin(),
    tokensPlugin(),
    maxDepthPlugin({ n: MAX_DEPTH, ...refuse(`nests deeper than ${MAX_DEPTH} levels`) }),
    maxAliasesPlugin({ n: MAX_ALIASES, ...refuse(`has more than ${MAX_ALIASES} aliases`) }),
    maxDirectivesPlugin({ n: MAX_DIRECTIVES, ...refuse(`has more than ${MAX_DIRECTIVES} directives`) }),
    checkVariables(isOwn),
    costPlugin(isOwn, turns),
    deadlinePlugin(runOperation),
    errorCountPlugin(),
    responseLimitPlugin(),
  ] as Plugin[];
}

/** Makes the plugins reject documents with `GRAPHQL_TOO_COMPLEX`. */
function refuse(what: string) {
  const onReject = [
    () => {
      throw tooComplex(`The document ${what}. Split it into smaller documents.`);
    },
  ];
  return { onReject };
}

function tooComplex(detail: string): AppError {
  return new AppError('GRAPHQL_TOO_COMPLEX', { detail });
}

/** Tokens can be long and comments don't count as tokens, so the number of characters is also limited. */
function lengthPlugin(): Plugin {
  return {
    onParse({ params }) {
      const { length } = String(params.source);
      if (length > MAX_LENGTH)
        throw tooComplex(`The document is longer than ${MAX_LENGTH} characters. Split it into smaller documents.`);
    },
  };
}

/** Stops parsing a document that is too long or too deeply nested for the stack. graphql-js counts tokens itself. */
function tokensPlugin(): Plugin {
  return {
    onParse({ parseFn, setParseFn }) {
      setParseFn((source, options) => {
        try {
          return parseFn(source, { ...options, maxTokens: MAX_TOKENS });
        } catch (error) {
          if (!(error instanceof RangeError) && !String(error).includes('Parsing aborted')) throw error;
          throw new AppError('GRAPHQL_TOO_COMPLEX', { detail: `The document has more than ${MAX_TOKENS} tokens.` });
        }
      });
    },
  };
}

/**
 * Calculates the cost of a document before it runs, rejects those that cost too much, lets expensive ones take turns, and
 * adds `extensions.cost` to responses.
 */
function costPlugin(isOwn: (document: DocumentNode) => boolean, turns?: TurnOptions): Plugin {
  const requireAffordable = (args: ExecutionArgs): number => {
    const introspection = priceIntrospection(args);
    if (introspection.schemas > 1)
      throw tooComplex('The document selects `__schema` more than once. Split it into smaller documents.');
    if (introspection.points > MAX_COST)
      throw tooComplex(
        `The document's introspection costs more than ${MAX_COST} points. Select fewer fields, or split it into smaller documents.`,
      );
    const requested = Math.ceil(priceOf(args) + introspection.points);
    if (requested <= MAX_COST) return requested;
    throw tooComplex(
      `The document costs ${requested} points, but only ${MAX_COST} are allowed. Lower \`first\` or split it.`,
    );
  };

  const inTurn = createTurns({ turnMilliseconds: TURN_MILLISECONDS, ...turns });

  /** Waits for the account's turn, but not longer than until the deadline. */
  async function executeInTurn(executeFn: (args: ExecutionArgs) => unknown, args: ExecutionArgs): Promise<unknown> {
    const { promise: started, resolve: start } = Promise.withResolvers<void>();
    const result = inTurn((args.contextValue as GraphQLContext).viewer.userId, async () => {
      // If the caller is no longer waiting, this throws.
      await withinDeadline(start);
      return executeFn(args);
    });
    await Promise.race([result, withinDeadline(() => started)]);
    return result;
  }

  return {
    onExecute({ args, executeFn, setExecuteFn }) {
      if (isOwn(args.document)) {
        // A page can have megabytes of schemas and examples.
        if (priceOfOwn(args as ExecutionArgs) > MAX_COST_WITHOUT_TURN)
          setExecuteFn((executed: ExecutionArgs) => executeInTurn(executeFn, executed));
        return undefined;
      }
      const requested = requireAffordable(args as ExecutionArgs);
      if (requested > MAX_COST_WITHOUT_TURN) {
        setExecuteFn((executed: ExecutionArgs) => executeInTurn(executeFn, executed));
      }
      return {
        onExecuteDone({ result, setResult }) {
          if (Symbol.asyncIterator in result) return;
          const executed = result as ExecutionResult;
          setResult({ ...executed, extensions: { ...executed.extensions, cost: { requested, limit: MAX_COST } } });
        },
      };
    },
    onSubscribe({ args }) {
      const requested = requireAffordable(args as ExecutionArgs);
      if (requested <= MAX_ITEM_COST) return;
      throw tooComplex(
        `Each item of the subscription costs ${requested} points, but only ${MAX_ITEM_COST} are allowed. Select fewer fields, and query the rest separately.`,
      );
    },
  };
}

const pricesOfOwn = new WeakMap<DocumentNode, Map<string, number>>();

/** The types of variables with only a few values that change a price. */
const IN_PRICES = /^(Int|Boolean)!?$/;
/** The types of variables that don't change a price. All others may, such as periods and lists. */
const NOT_IN_PRICES = /^(ID|String|\w+(Input|Order))!?$/;

/**
 * The cost of one of the REST API's own documents. For most requests, only the page size and the expansions make a
 * difference, so each combination is priced once: pricing a document takes about as much time as the rest of a small
 * request.
 */
function priceOfOwn(args: ExecutionArgs): number {
  const given = givenVariables(args).filter(({ type }) => !NOT_IN_PRICES.test(type));
  if (given.some(({ type }) => !IN_PRICES.test(type))) return priceOf(args);
  const prices = pricesOfOwn.get(args.document) ?? new Map<string, number>();
  pricesOfOwn.set(args.document, prices);
  const key = given.map(({ name, value }) => [name, value]).join();
  const price = prices.get(key) ?? priceOf(args);
  prices.set(key, price);
  return price;
}

function givenVariables({ document, operationName, variableValues }: ExecutionArgs) {
  const definitions = getOperationAST(document, operationName)?.variableDefinitions ?? [];
  return definitions
    .map(({ variable: { name }, type }) => ({
      name: name.value,
      type: print(type),
      value: variableValues?.[name.value],
    }))
    .filter(({ value }) => value !== undefined);
}

/** The cost of the selected operation, which may not be the document's first. */
function priceOf({ document, operationName, schema, variableValues, contextValue }: ExecutionArgs): number {
  const operation = getOperationAST(document, operationName);
  if (!operation) return 0;
  const definitions = document.definitions.filter(
    (definition) => definition.kind !== Kind.OPERATION_DEFINITION || definition === operation,
  );
  const ctx = { ...(contextValue as object) };
  const price = () =>
    complexityFromQuery({ ...document, definitions }, { schema, variables: { ...variableValues }, ctx }).complexity;
  // The first pass finds the longest list of intervals.
  price();
  return price();
}

function errorCountPlugin(): Plugin {
  return {
    onValidate() {
      return ({ result, setResult }) => {
        if (result.length > MAX_ERRORS) setResult(result.slice(0, MAX_ERRORS));
      };
    },
  };
}
