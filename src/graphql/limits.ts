import type { Plugin } from '@envelop/core';
import { maxAliasesPlugin } from '@escape.tech/graphql-armor-max-aliases';
import { maxDepthPlugin } from '@escape.tech/graphql-armor-max-depth';
import { maxDirectivesPlugin } from '@escape.tech/graphql-armor-max-directives';
import { maxTokensPlugin } from '@escape.tech/graphql-armor-max-tokens';
import { complexityFromQuery } from '@pothos/plugin-complexity';
import type { DocumentNode, ExecutionArgs, ExecutionResult } from 'graphql';
import { AppError } from '../errors.ts';
import { MAX_COST } from './cost.ts';

const MAX_TOKENS = 2_000;
const MAX_DEPTH = 10;
const MAX_ALIASES = 30;
const MAX_DIRECTIVES = 20;
const DEADLINE_MILLISECONDS = 10_000;

/** The bounds of what one document may ask for. Documents of the REST interface are our own and pass unpriced. */
export function limitPlugins(isOwn: (document: DocumentNode) => boolean): Plugin[] {
  return [
    maxTokensPlugin({ n: MAX_TOKENS }),
    maxDepthPlugin({ n: MAX_DEPTH }),
    maxAliasesPlugin({ n: MAX_ALIASES }),
    maxDirectivesPlugin({ n: MAX_DIRECTIVES }),
    costPlugin(isOwn),
    deadlinePlugin(),
  ];
}

/** Prices a document before it runs, refuses what costs too much, and says the price in `extensions.cost`. */
function costPlugin(isOwn: (document: DocumentNode) => boolean): Plugin {
  const price = (args: ExecutionArgs): number =>
    complexityFromQuery(args.document, {
      schema: args.schema,
      variables: { ...args.variableValues },
      ctx: args.contextValue as object,
    }).complexity;
  const refusal = (requested: number) =>
    new AppError('GRAPHQL_TOO_COMPLEX', {
      detail: `The document costs ${requested} points and ${MAX_COST} are allowed. Lower \`first\` or split it.`,
    });

  return {
    onExecute({ args }) {
      if (isOwn(args.document)) return undefined;
      const requested = Math.ceil(price(args as ExecutionArgs));
      if (requested > MAX_COST) throw refusal(requested);
      return {
        onExecuteDone({ result, setResult }) {
          if (Symbol.asyncIterator in result) return;
          const answer = result as ExecutionResult;
          setResult({ ...answer, extensions: { ...answer.extensions, cost: { requested, limit: MAX_COST } } });
        },
      };
    },
    onSubscribe({ args }) {
      const requested = Math.ceil(price(args as ExecutionArgs));
      if (requested > MAX_COST) throw refusal(requested);
    },
  };
}

/** Answers in time even when a resolver hangs. What it had started is bounded by the timeouts of the database. */
function deadlinePlugin(): Plugin {
  return {
    onExecute({ executeFn, setExecuteFn }) {
      setExecuteFn(async (args) => {
        let timer: NodeJS.Timeout | undefined;
        const deadline = new Promise<never>((_resolve, reject) => {
          timer = setTimeout(
            () =>
              reject(
                new AppError('UNAVAILABLE', { detail: 'The query took longer than 10 seconds. Ask for less at once.' }),
              ),
            DEADLINE_MILLISECONDS,
          );
        });
        try {
          return await Promise.race([executeFn(args), deadline]);
        } finally {
          clearTimeout(timer);
        }
      });
    },
  };
}
