import {
  type DocumentNode,
  type ExecutionArgs,
  GraphQLID,
  getNamedType,
  getOperationAST,
  getVariableValues,
  type TypeNode,
  typeFromAST,
} from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { invalidField } from '../errors.ts';
import { MAX_PAGE_SIZE } from '../schema/cost.ts';

type Variables = Readonly<Record<string, unknown>>;

/**
 * Rejects a document whose variables don't match their types, with the first error. Without this, graphql-js reports
 * every error and quotes the whole variable for each unknown field in it, which takes minutes if there are many. Also
 * rejects lists with too many IDs, because Pothos decodes all of them for each field that uses the list, even to price
 * the document. This must come before all plugins that read variables.
 *
 * @param isOwn whether a document is one of the REST routes', whose variables are already checked.
 */
export function checkVariables(isOwn: (document: DocumentNode) => boolean): Plugin {
  const check = (args: ExecutionArgs): void => {
    if (isOwn(args.document)) return;
    const definitions = getOperationAST(args.document, args.operationName)?.variableDefinitions ?? [];
    const variables = withoutFile(args.variableValues ?? {});
    const { errors, coerced } = getVariableValues(args.schema, definitions, variables, { maxErrors: 1 });
    if (errors) throw errors[0];
    for (const { variable, type } of definitions) requireFewIds(variable.name.value, coerced, args, type);
  };
  return {
    onExecute: ({ args }) => check(args as ExecutionArgs),
    onSubscribe: ({ args }) => check(args as ExecutionArgs),
  };
}

/** @throws AppError `VALIDATION_FAILED` */
function requireFewIds(name: string, coerced: Variables, { schema }: ExecutionArgs, type: TypeNode): void {
  const value = coerced[name];
  if (!Array.isArray(value) || value.length <= MAX_PAGE_SIZE) return;
  if (getNamedType(typeFromAST(schema, type as never)) === GraphQLID)
    throw invalidField(`/${name}`, `Must have at most ${MAX_PAGE_SIZE} IDs.`);
}

/** The same variables with an empty file, because messages about other fields also contain the file. */
function withoutFile(variables: Variables): Variables {
  const { document, ...input } = (variables.input ?? {}) as Variables;
  return typeof document === 'string' ? { ...variables, input: { ...input, document: '' } } : variables;
}
