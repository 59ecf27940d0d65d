import {
  type ArgumentNode,
  type DocumentNode,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLNamedType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  isObjectType,
  Kind,
  TypeInfo,
  typeFromAST,
  visit,
  visitWithTypeInfo,
} from 'graphql';

/** The type of a variable in the document or, for an input object, of a field inside it. */
export function typeAt(
  schema: GraphQLSchema,
  document: DocumentNode,
  [name, ...rest]: readonly string[],
): GraphQLInputType {
  const operation = operationOf(document);
  const variable = operation.variableDefinitions?.find((definition) => definition.variable.name.value === name);
  let type = variable && (typeFromAST(schema, variable.type as never) as GraphQLInputType | undefined);
  for (const field of rest) {
    const named = type && getNamedType(type);
    type = named && 'getFields' in named ? named.getFields()[field]?.type : undefined;
  }
  if (!type) throw new Error(`The route's document has no variable ${[name, ...rest].join('.')}`);
  return type;
}

/** The argument that a variable is passed to. Undefined if it is used differently. */
export function argumentOf(
  schema: GraphQLSchema,
  document: DocumentNode,
  variable: string,
): GraphQLArgument | undefined {
  const types = new TypeInfo(schema);
  let found: GraphQLArgument | undefined;
  const enter = ({ value }: ArgumentNode) => {
    if (value.kind === Kind.VARIABLE && value.name.value === variable) found = types.getArgument() ?? undefined;
  };
  visit(document, visitWithTypeInfo(types, { Argument: { enter } }));
  return found;
}

/**
 * What a document does, in the schema's words: the description of its mutation or, in a query, of the last field on the
 * way to the result that has one.
 *
 * @param at the path to the result, as field names.
 */
export function descriptionOf(schema: GraphQLSchema, document: DocumentNode, at: readonly string[]): string {
  const operation = operationOf(document);
  const [first] = operation.selectionSet.selections;
  const names = operation.operation === 'query' ? at : [first?.kind === Kind.FIELD ? first.name.value : ''];
  let type: GraphQLNamedType | undefined = getNamedType(rootType(schema, document));
  let description = '';
  for (const name of names) {
    const field: GraphQLField<unknown, unknown> | undefined = isObjectType(type) ? type.getFields()[name] : undefined;
    description = field?.description ?? description;
    type = field && getNamedType(field.type);
  }
  return description;
}

export function operationOf(document: DocumentNode) {
  const operation = document.definitions.find((definition) => definition.kind === Kind.OPERATION_DEFINITION);
  if (!operation) throw new Error('The document has no operation');
  return operation;
}

export function rootType(schema: GraphQLSchema, document: DocumentNode): GraphQLOutputType {
  const root = schema.getRootType(operationOf(document).operation);
  if (!root || !isObjectType(root)) throw new Error('The schema has no such root type');
  return root;
}
