import {
  type DocumentNode,
  type GraphQLSchema,
  getVariableValues,
  Kind,
  type OperationDefinitionNode,
  parse,
} from 'graphql';
import type { JsonFault } from '../../api/json-check.ts';

/** The contents of the editors. `variables` is JSON. */
export type Draft = { query: string; variables: string };

function parsed(query: string): DocumentNode | undefined {
  try {
    return parse(query);
  } catch {
    return undefined;
  }
}

/** The operations in a document. Empty if the document can't be parsed. */
export function operationsIn(query: string): OperationDefinitionNode[] {
  const definitions = parsed(query)?.definitions ?? [];
  return definitions.filter((definition) => definition.kind === Kind.OPERATION_DEFINITION);
}

/** The operation at or before the cursor, or else the first one. */
export function operationAt(
  operations: readonly OperationDefinitionNode[],
  offset: number,
): OperationDefinitionNode | undefined {
  return operations.findLast(({ loc }) => loc!.start <= offset) ?? operations[0];
}

/** The variables as an object. Undefined if the text isn't one. Blank text counts as an empty object. */
export function parseVariables(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text.trim() || '{}');
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** What is wrong with an operation's variables, according to their types in the schema. Unknown types aren't reported here. */
export function faultsInVariables(
  schema: GraphQLSchema | undefined,
  operation: OperationDefinitionNode | undefined,
  variables: unknown,
): JsonFault[] {
  const isObject = typeof variables === 'object' && variables !== null && !Array.isArray(variables);
  if (!isObject) return [{ pointer: '', message: NOT_AN_OBJECT }];
  const definitions = (operation?.variableDefinitions ?? []).filter(({ type }) => schema?.getType(nameOf(type)));
  if (!schema) return [];
  return definitions.flatMap((definition) => {
    const name = definition.variable.name.value;
    const { errors = [] } = getVariableValues(schema, [definition], variables as Record<string, unknown>);
    const pointer = name in variables ? `/${name}` : '';
    return errors.map(({ message }) => ({ pointer, message }));
  });
}

export const NOT_AN_OBJECT = 'Must be a JSON object, such as {"first": 10}.';

type TypeNode = NonNullable<OperationDefinitionNode['variableDefinitions']>[number]['type'];

function nameOf(type: TypeNode): string {
  return type.kind === Kind.NAMED_TYPE ? type.name.value : nameOf(type.type);
}

/** A link's fragment with a draft. Fragments aren't sent to servers, so the draft isn't in any log. */
export function toFragment({ query, variables }: Draft): string {
  return `#${new URLSearchParams({ query, variables })}`;
}

/** The draft in a link's fragment, if there is one. */
export function fromFragment(fragment: string): Draft | undefined {
  const fields = new URLSearchParams(fragment.replace(/^#/, ''));
  const query = fields.get('query');
  return query === null ? undefined : { query, variables: fields.get('variables') ?? '{}' };
}
