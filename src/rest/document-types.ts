import {
  type DocumentNode,
  type GraphQLInputType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  isObjectType,
  Kind,
  typeFromAST,
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
