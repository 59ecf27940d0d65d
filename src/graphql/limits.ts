import { maxAliasesPlugin } from '@escape.tech/graphql-armor-max-aliases';
import { maxDepthPlugin } from '@escape.tech/graphql-armor-max-depth';
import { maxDirectivesPlugin } from '@escape.tech/graphql-armor-max-directives';
import { complexityFromQuery } from '@pothos/plugin-complexity';
import { type DocumentNode, type ExecutionArgs, type ExecutionResult, getOperationAST, Kind } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { AppError } from '../errors.ts';
import { MAX_COST } from '../schema/cost.ts';
import { deadlinePlugin } from './deadline.ts';

const MAX_LENGTH = 32_768;
const MAX_TOKENS = 2_000;
const MAX_DEPTH = 10;
const MAX_ALIASES = 30;
const MAX_DIRECTIVES = 20;
/** If a document has many errors, the first ones are enough. */
const MAX_ERRORS = 5;

/** Limits what one document can request. The REST API's own documents aren't limited. */
export function limitPlugins(isOwn: (document: DocumentNode) => boolean): Plugin[] {
  return [
    lengthPlugin(),
    tokensPlugin(),
    maxDepthPlugin({ n: MAX_DEPTH, ...refuse(`nests deeper than ${MAX_DEPTH} levels`) }),
    maxAliasesPlugin({ n: MAX_ALIASES, ...refuse(`has more than ${MAX_ALIASES} aliases`) }),
    maxDirectivesPlugin({ n: MAX_DIRECTIVES, ...refuse(`has more than ${MAX_DIRECTIVES} directives`) }),
    costPlugin(isOwn),
    deadlinePlugin(),
    errorCountPlugin(),
  ] as Plugin[];
}

/** Makes the plugins reject documents with `GRAPHQL_TOO_COMPLEX`. */
function refuse(what: string) {
  const onReject = [
    () => {
      throw tooComplex(`The document ${what}. Split it.`);
    },
  ];
  return { onReject };
}

function tooComplex(detail: string): AppError {
  return new AppError('GRAPHQL_TOO_COMPLEX', { detail });
}

/** Tokens can be long and comments don't count as tokens, so the number of characters is limited too. */
function lengthPlugin(): Plugin {
  return {
    onParse({ params }) {
      const { length } = String(params.source);
      if (length > MAX_LENGTH) throw tooComplex(`The document is longer than ${MAX_LENGTH} characters. Split it.`);
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

/** Calculates the cost of a document before it runs, rejects expensive ones, and adds `extensions.cost` to responses. */
function costPlugin(isOwn: (document: DocumentNode) => boolean): Plugin {
  const requireAffordable = (args: ExecutionArgs): number => {
    const requested = Math.ceil(priceOf(args));
    if (requested <= MAX_COST) return requested;
    throw tooComplex(
      `The document costs ${requested} points, but only ${MAX_COST} are allowed. Lower \`first\` or split it.`,
    );
  };

  return {
    onExecute({ args }) {
      if (isOwn(args.document)) return undefined;
      const requested = requireAffordable(args as ExecutionArgs);
      return {
        onExecuteDone({ result, setResult }) {
          if (Symbol.asyncIterator in result) return;
          const answer = result as ExecutionResult;
          setResult({ ...answer, extensions: { ...answer.extensions, cost: { requested, limit: MAX_COST } } });
        },
      };
    },
    onSubscribe({ args }) {
      requireAffordable(args as ExecutionArgs);
    },
  };
}

/** The cost of the selected operation, which may not be the document's first. */
function priceOf({ document, operationName, schema, variableValues, contextValue }: ExecutionArgs): number {
  const operation = getOperationAST(document, operationName);
  if (!operation) return 0;
  const definitions = document.definitions.filter(
    (definition) => definition.kind !== Kind.OPERATION_DEFINITION || definition === operation,
  );
  const { complexity } = complexityFromQuery(
    { ...document, definitions },
    { schema, variables: { ...variableValues }, ctx: contextValue as object },
  );
  return complexity;
}

function errorCountPlugin(): Plugin {
  return {
    onValidate() {
      return ({ result, setResult }) => {
        if (result.length > MAX_ERRORS) setResult(result.slice(0, MAX_ERRORS));
      };
    },
    onExecute() {
      return {
        onExecuteDone({ result, setResult }) {
          if (Symbol.asyncIterator in result) return;
          // Without data, nothing ran, so all errors are about variables.
          const { data, errors } = result as ExecutionResult;
          if (data === undefined && errors && errors.length > MAX_ERRORS) {
            setResult({ ...(result as ExecutionResult), errors: errors.slice(0, MAX_ERRORS) });
          }
        },
      };
    },
  };
}
