import { getOperationAST } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { inSpan, isTracing } from '../tracing/tracer.ts';

/**
 * A span for each operation, including those run by REST routes:
 * https://opentelemetry.io/docs/specs/semconv/graphql/graphql-spans/
 */
export function traceOperations(): Plugin {
  return {
    onExecute({ args, executeFn, setExecuteFn }) {
      if (!isTracing()) return;
      const operation = getOperationAST(args.document, args.operationName);
      const type = operation?.operation ?? 'query';
      const name = operation?.name?.value;
      const attributes = { 'graphql.operation.type': type, ...(name && { 'graphql.operation.name': name }) };
      setExecuteFn((given) =>
        inSpan(
          `GraphQL ${type}`,
          () => ({ attributes }),
          async () => executeFn(given),
        ),
      );
    },
  };
}
