import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLIncludeDirective,
  type GraphQLNamedType,
  type GraphQLSchema,
  getDirectiveValues,
  getNamedType,
  getOperationAST,
  isObjectType,
  Kind,
  OperationTypeNode,
  type SelectionNode,
  type SelectionSetNode,
  valueFromASTUntyped,
} from 'graphql';
import { type Permission, type Requirement, ROLE_PERMISSIONS, type Role, type Scope } from '../auth/permissions.ts';
import { PROJECT_VALUES, type ROOT_FIELDS } from './field-permissions.ts';
import { requirementOfNested, requirementsOfRoot } from './require-permissions.ts';

type Values = Readonly<Record<string, unknown>>;

/** What running a document requires. All of the requirements must be met. */
export type DocumentRequirements = {
  /** The requirements of the root fields, for everyone. */
  root: readonly Requirement[];
  /** The requirements of the fields below them, for API keys only. */
  nested: readonly Requirement[];
};

/**
 * What the table of permissions requires for a document. Requests don't use this: it is the source of the documentation
 * and of the tests that compare every operation with the table.
 *
 * @param variables overrides the defaults. The requirements of `node` depend on its ID, and `@include` on its variable.
 */
export function requirementsOf(
  schema: GraphQLSchema,
  document: DocumentNode,
  variables: Values = {},
): DocumentRequirements {
  const operation = getOperationAST(document);
  const rootType = operation && schema.getRootType(operation.operation);
  if (!rootType) throw new Error('The document has no operation');
  const defaults = operation.variableDefinitions?.map(({ variable, defaultValue }) => [
    variable.name.value,
    defaultValue && valueFromASTUntyped(defaultValue),
  ]);
  const values: Values = { ...Object.fromEntries(defaults ?? []), ...variables };
  const fragments = new Map(
    document.definitions
      .filter((definition): definition is FragmentDefinitionNode => definition.kind === Kind.FRAGMENT_DEFINITION)
      .map((fragment) => [fragment.name.value, fragment]),
  );
  const root = new Set<Requirement>();
  const nested = new Set<Requirement>();
  for (const { field } of fieldsIn(rootType, operation.selectionSet)) {
    const args = field.arguments?.map(({ name, value }) => [name.value, valueFromASTUntyped(value, values)]);
    const name = rootType.name as keyof typeof ROOT_FIELDS;
    for (const one of requirementsOfRoot(name, field.name.value, Object.fromEntries(args ?? []))) root.add(one);
  }
  walk(rootType, operation.selectionSet);
  return { root: [...root], nested: [...nested] };

  function walk(parent: GraphQLNamedType, selectionSet: SelectionSetNode): void {
    for (const { type, field } of fieldsIn(parent, selectionSet)) {
      const definition = isObjectType(type) ? type.getFields()[field.name.value] : undefined;
      if (!definition || !isObjectType(type)) continue;
      const required = requirementOfNested(type, definition);
      // A mutation returns the project that it changed.
      const isResult = required === PROJECT_VALUES && operation!.operation === OperationTypeNode.MUTATION;
      if (required && !isResult) nested.add(required);
      if (field.selectionSet) walk(getNamedType(definition.type), field.selectionSet);
    }
  }

  /** The fields of a selection, also those in fragments, and the types that they belong to. */
  function* fieldsIn(
    type: GraphQLNamedType,
    { selections }: SelectionSetNode,
  ): Generator<{ type: GraphQLNamedType; field: FieldNode }> {
    for (const selection of selections.filter(isIncluded)) {
      if (selection.kind === Kind.FIELD) yield { type, field: selection };
      else {
        const { typeCondition, selectionSet } =
          selection.kind === Kind.FRAGMENT_SPREAD ? fragments.get(selection.name.value)! : selection;
        const inner = typeCondition ? schema.getType(typeCondition.name.value)! : type;
        yield* fieldsIn(inner, selectionSet);
      }
    }
  }

  function isIncluded(selection: SelectionNode): boolean {
    return getDirectiveValues(GraphQLIncludeDirective, selection, values)?.if !== false;
  }
}

/** Whether an API key with these scopes can run a document. */
export function canKeyRun(scopes: readonly Scope[], { root, nested }: DocumentRequirements): boolean {
  return [...root, ...nested].every((one) => !one.isForPeople && isMet(one, scopes));
}

/** Whether a person with this role can run a document in the project. */
export function canRoleRun(role: Role, { root }: DocumentRequirements): boolean {
  return root.every((one) => isMet(one, ROLE_PERMISSIONS[role]));
}

/** Whether a document exists only for operators. */
export const isForOperators = ({ root }: DocumentRequirements): boolean => root.some((one) => one.isForOperators);

const isMet = ({ anyOf }: Requirement, permissions: readonly Permission[]) =>
  anyOf.length === 0 || anyOf.some((one) => permissions.includes(one));
