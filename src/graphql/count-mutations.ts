import { type DocumentNode, type FragmentDefinitionNode, getOperationAST, Kind, type SelectionSetNode } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { GraphQLContext } from '../schema/context.ts';

/**
 * Counts each mutation in a document as a request before any of them runs, so thirty mutations in one document cost
 * as much as thirty documents.
 */
export function countMutations(): Plugin {
  return {
    onExecute({ args }) {
      const more = mutationsIn(args.document, args.operationName) - 1;
      if (more <= 0) return undefined;
      const { countMore } = args.contextValue as Partial<GraphQLContext>;
      return countMore?.(more);
    },
  };
}

/** The number of mutations in an operation, including those that `@skip` or `@include` may exclude. */
export function mutationsIn(document: DocumentNode, operationName?: string | null): number {
  const operation = getOperationAST(document, operationName);
  if (operation?.operation !== 'mutation') return 0;
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition);
  }
  // Names in the response, because GraphQL runs fields with the same name only once.
  const names = new Set<string>();

  function collect({ selections }: SelectionSetNode): void {
    for (const selection of selections) {
      if (selection.kind === Kind.INLINE_FRAGMENT) collect(selection.selectionSet);
      else if (selection.kind === Kind.FRAGMENT_SPREAD) {
        const fragment = fragments.get(selection.name.value);
        // Each fragment counts once.
        fragments.delete(selection.name.value);
        if (fragment) collect(fragment.selectionSet);
      } else if (!selection.name.value.startsWith('__')) names.add((selection.alias ?? selection.name).value);
    }
  }

  collect(operation.selectionSet);
  return names.size;
}
