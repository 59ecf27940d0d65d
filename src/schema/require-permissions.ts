import {
  defaultFieldResolver,
  type GraphQLField,
  type GraphQLFieldResolver,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  isLeafType,
  isObjectType,
  OperationTypeNode,
} from 'graphql';
import type { Requirement } from '../auth/permissions.ts';
import { narrowViewer } from '../auth/require-permission.ts';
import { typeOfId } from '../ids.ts';
import type { GraphQLContext } from './context.ts';
import { explainNotFound, isExplainable } from './explain-not-found.ts';
import { NESTED_FIELDS, PROJECT_PARTS, PROJECT_VALUES, ROOT_FIELDS, requirementOfType } from './field-permissions.ts';

type Resolver = GraphQLFieldResolver<unknown, GraphQLContext>;
type Field = GraphQLField<unknown, GraphQLContext>;
type Args = Readonly<Record<string, unknown>>;

/**
 * Makes a schema's fields check what the caller may do. The requirements are in `field-permissions.ts`. Tenancy isn't
 * checked here, but in `src/auth/access.ts`.
 *
 * @throws Error if a field of a root type has no requirement, or a requirement has no field.
 */
export function requirePermissions(schema: GraphQLSchema): GraphQLSchema {
  for (const name of ROOT_TYPES) {
    const requirements = ROOT_FIELDS[name];
    const fields = (schema.getType(name) as GraphQLObjectType).getFields();
    const unmatched = [...Object.keys(fields), ...Object.keys(requirements)].filter(
      (field) => !fields[field] || !requirements[field],
    );
    if (unmatched.length > 0)
      throw new Error(`${name}.${unmatched[0]} must be a field and have a requirement in field-permissions.ts.`);
    for (const field of Object.values(fields)) guardRoot(name, field);
  }
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type)) continue;
    for (const field of Object.values(type.getFields())) guardNested(type, field);
  }
  return schema;
}

const ROOT_TYPES = Object.keys(ROOT_FIELDS) as (keyof typeof ROOT_FIELDS)[];

/** Types whose contents were already checked by the fields that lead to them. */
const WRAPPER = /^__|(Payload|Connection|Edge|PageInfo)$/;

/** A root field runs with the viewer limited to the projects in which they meet the requirement. */
function guardRoot(type: keyof typeof ROOT_FIELDS, field: Field): void {
  const { resolve, subscribe } = field;
  const guard =
    (run: Resolver): Resolver =>
    (root, args, context, info) => {
      const requirements = requirementsOfRoot(type, field.name, args);
      const viewer = requirements.reduce(narrowViewer, context.viewer);
      if (!isExplainable(viewer, context.viewer)) return run(root, args, context, info);
      const narrowed = viewer === context.viewer ? context : { ...context, viewer };
      const required = requirements[0] ?? ROOT_FIELDS[type][field.name]!;
      return explainNotFound({ viewer, context, args, required }, () => run(root, args, narrowed, info));
    };
  if (subscribe) field.subscribe = guard(subscribe);
  else field.resolve = guard(resolve ?? defaultFieldResolver);
}

/** For these fields, the requirement depends on the types of the IDs. */
const NODE_FIELDS: Readonly<Record<string, (args: Args) => Requirement[]>> = {
  node: ({ id }) => requirementsOfNodes([String(id)]),
  nodes: ({ ids }) => requirementsOfNodes(ids as string[]),
};

/** What the field of a root type requires. All of the requirements must be met. */
export function requirementsOfRoot(type: keyof typeof ROOT_FIELDS, field: string, args: Args): readonly Requirement[] {
  return NODE_FIELDS[field]?.(args) ?? [ROOT_FIELDS[type][field]!];
}

/** What is needed to read all of these objects. */
function requirementsOfNodes(ids: readonly string[]): Requirement[] {
  return [...new Set(ids.map((id) => requirementOfType(typeOfId(id) ?? 'Unknown')))];
}

/**
 * A nested field has to be checked only if it leads to something that its parent doesn't include. People can read
 * everything in the projects that they can see.
 */
function guardNested(type: GraphQLObjectType, field: Field): void {
  const required = requirementOfNested(type, field);
  if (!required || required.anyOf.length === 0) return;
  const { resolve = defaultFieldResolver } = field;
  field.resolve = (parent, args, context, info) => {
    // A mutation returns the project that it changed.
    const isResult = required === PROJECT_VALUES && info.operation.operation === OperationTypeNode.MUTATION;
    if (context.viewer.kind === 'apiKey' && !isResult) narrowViewer(context.viewer, required);
    return resolve(parent, args, context, info);
  };
}

/** What a field requires in addition to what leads to it, or undefined if that is nothing. */
export function requirementOfNested(type: GraphQLObjectType, field: Field): Requirement | undefined {
  if (type.name in ROOT_FIELDS || WRAPPER.test(type.name)) return undefined;
  const declared = NESTED_FIELDS[type.name]?.[field.name];
  if (declared) return declared;
  const result = getNamedType(field.type);
  const item = itemTypeOf(result);
  if (type.name !== 'Project') return item && requirementOfType(item.name);
  if (item) return requirementOfType(item.name);
  const isValue = (isLeafType(result) && field.args.length === 0) || PROJECT_PARTS.has(field.name);
  return isValue ? PROJECT_VALUES : requirementOfType(result.name);
}

/** The type (with an ID) of the objects that a field returns, as pages or as a single object. */
function itemTypeOf(type: GraphQLNamedType): GraphQLObjectType | undefined {
  if (!isObjectType(type)) return undefined;
  const item = type.name.endsWith('Connection') ? getNamedType(type.getFields().nodes!.type) : type;
  const isItem = isObjectType(item) && item.getInterfaces().some(({ name }) => name === 'Node');
  return isItem ? item : undefined;
}
