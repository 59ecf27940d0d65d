import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  getOperationAST,
  Kind,
  type SelectionSetNode,
  valueFromASTUntyped,
} from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { GraphQLContext } from '../schema/context.ts';

type Variables = Readonly<Record<string, unknown>>;
type Input = Readonly<Record<string, unknown>>;

/** The number of changes that a mutation makes, for mutations that can make more than one. */
const SIZES: Readonly<Record<string, (input: Input, context: GraphQLContext) => number | Promise<number>>> = {
  importEndpoints: ({ items }) => (Array.isArray(items) ? items.length : 1),
  copyProject: async ({ projectId }, { services, viewer }) =>
    1 + (await services.projectCopies.countContents(viewer, String(projectId))),
};

/**
 * Counts each mutation in a document as a request before any of them runs, so thirty mutations in one document cost as
 * much as thirty documents. An import counts as one request for each endpoint, and a copy as one request for each item
 * that is copied.
 */
export function countMutations(): Plugin<GraphQLContext> {
  return {
    onExecute({ args }) {
      const context = args.contextValue;
      const variables = withDefaults(args.document, args.operationName, args.variableValues as Variables | undefined);
      const mutations = mutationsIn(args.document, args.operationName);
      return mutations.length > 0 ? count() : undefined;

      async function count(): Promise<void> {
        let requests = 0;
        for (const mutation of mutations) requests += await sizeOf(mutation);
        if (requests > 1) await context.countMore?.(requests - 1);
      }

      async function sizeOf({ name, arguments: given = [] }: FieldNode): Promise<number> {
        const input = given.find((argument) => argument.name.value === 'input');
        const size = SIZES[name.value];
        if (!size || !input) return 1;
        return Math.max(1, await size((valueFromASTUntyped(input.value, variables) ?? {}) as Input, context));
      }
    },
  };
}

/** The operation's variables, with default values for the ones that aren't given. */
function withDefaults(document: DocumentNode, operationName?: string | null, given: Variables = {}): Variables {
  const definitions = getOperationAST(document, operationName)?.variableDefinitions ?? [];
  const defaults = definitions.map(({ variable, defaultValue }) => [
    variable.name.value,
    defaultValue && valueFromASTUntyped(defaultValue),
  ]);
  return { ...Object.fromEntries(defaults), ...given };
}

/** The mutations in an operation, including any that `@skip` or `@include` might exclude. */
export function mutationsIn(document: DocumentNode, operationName?: string | null): FieldNode[] {
  const operation = getOperationAST(document, operationName);
  if (operation?.operation !== 'mutation') return [];
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition);
  }
  // They are counted by their names in the response, because GraphQL runs fields with the same name only once.
  const mutations = new Map<string, FieldNode>();

  function collect({ selections }: SelectionSetNode): void {
    for (const selection of selections) {
      if (selection.kind === Kind.INLINE_FRAGMENT) collect(selection.selectionSet);
      else if (selection.kind === Kind.FRAGMENT_SPREAD) {
        const fragment = fragments.get(selection.name.value);
        // Each fragment counts once.
        fragments.delete(selection.name.value);
        if (fragment) collect(fragment.selectionSet);
      } else if (!selection.name.value.startsWith('__')) {
        mutations.set((selection.alias ?? selection.name).value, selection);
      }
    }
  }

  collect(operation.selectionSet);
  return [...mutations.values()];
}
