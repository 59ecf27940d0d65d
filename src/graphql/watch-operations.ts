import { type ExecutionArgs, getOperationAST, type OperationTypeNode } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { ErrorCode } from '../errors.ts';
import { errorCodeOf } from './errors.ts';

/** An operation's outcome. For a subscription, the outcome of starting it. */
export type OperationFacts = { type: OperationTypeNode; errorCodes: ErrorCode[]; seconds: number };

export type OnOperation = (facts: OperationFacts) => void;

/** Reports each operation, including those run by REST routes. Documents that fail validation don't count. */
export function watchOperations(onOperation: OnOperation): Plugin {
  const begin = ({ document, operationName }: ExecutionArgs) => {
    const startedAt = performance.now();
    const type = getOperationAST(document, operationName)?.operation;
    return ({ result }: { result: object }): void => {
      const errors: readonly unknown[] = 'errors' in result && Array.isArray(result.errors) ? result.errors : [];
      const seconds = (performance.now() - startedAt) / 1000;
      if (type) onOperation({ type, errorCodes: errors.map(errorCodeOf), seconds });
    };
  };
  return {
    onExecute: ({ args }) => ({ onExecuteDone: begin(args as ExecutionArgs) }),
    onSubscribe: ({ args }) => ({ onSubscribeResult: begin(args as ExecutionArgs) }),
  };
}
