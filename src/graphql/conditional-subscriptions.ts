import { GraphQLError, Kind, OperationTypeNode, type SelectionSetNode, type ValidationContext } from 'graphql';
import type { Plugin } from 'graphql-yoga';

const CONDITIONS: ReadonlySet<string> = new Set(['skip', 'include']);

/**
 * Rejects subscriptions that may leave out their only field, as the GraphQL specification requires since September 2025.
 * graphql-js 16 doesn't check this.
 */
export function refuseConditionalSubscriptions(): Plugin {
  return {
    onValidate({ addValidationRule }) {
      addValidationRule(unconditionalField);
    },
  };
}

function unconditionalField(context: ValidationContext) {
  return {
    OperationDefinition({ operation, selectionSet }: { operation: OperationTypeNode; selectionSet: SelectionSetNode }) {
      if (operation !== OperationTypeNode.SUBSCRIPTION || !isConditional(selectionSet, context, new Set())) return;
      const message = 'A subscription can’t use @skip or @include on its field.';
      context.reportError(new GraphQLError(message, { nodes: selectionSet }));
    },
  };
}

/** @param visited the fragments that have been checked, because an invalid document can have a fragment in itself. */
function isConditional({ selections }: SelectionSetNode, context: ValidationContext, visited: Set<string>): boolean {
  return selections.some((selection) => {
    if (selection.directives?.some(({ name }) => CONDITIONS.has(name.value))) return true;
    if (selection.kind === Kind.INLINE_FRAGMENT) return isConditional(selection.selectionSet, context, visited);
    if (selection.kind === Kind.FIELD || visited.has(selection.name.value)) return false;
    visited.add(selection.name.value);
    const fragment = context.getFragment(selection.name.value);
    return fragment ? isConditional(fragment.selectionSet, context, visited) : false;
  });
}
