import { type DocumentNode, type ExecutionArgs, getOperationAST, getVariableValues } from 'graphql';
import type { Plugin } from 'graphql-yoga';

type Variables = Readonly<Record<string, unknown>>;

/**
 * Rejects a document whose variables don't match their types, with the first error. Without this, graphql-js reports
 * every error and quotes the whole variable for each unknown field in it, which takes minutes if there are many. This
 * must come before all plugins that read variables.
 *
 * @param isOwn whether a document is one of the REST routes', whose variables are already checked.
 */
export function checkVariables(isOwn: (document: DocumentNode) => boolean): Plugin {
  const check = (args: ExecutionArgs): void => {
    if (isOwn(args.document)) return;
    const definitions = getOperationAST(args.document, args.operationName)?.variableDefinitions ?? [];
    const variables = withoutFile(args.variableValues ?? {});
    const { errors } = getVariableValues(args.schema, definitions, variables, { maxErrors: 1 });
    if (errors) throw errors[0];
  };
  return {
    onExecute: ({ args }) => check(args as ExecutionArgs),
    onSubscribe: ({ args }) => check(args as ExecutionArgs),
  };
}

/** The same variables with an empty file, because messages about other fields also contain the file. */
function withoutFile(variables: Variables): Variables {
  const { document, ...input } = (variables.input ?? {}) as Variables;
  return typeof document === 'string' ? { ...variables, input: { ...input, document: '' } } : variables;
}
