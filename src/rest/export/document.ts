import {
  type DocumentNode,
  type FieldNode,
  Kind,
  type OperationDefinitionNode,
  parse,
  type SelectionNode,
  visit,
} from 'graphql';
import { operationOf } from '../document-types.ts';

/** What an export requests in addition to what its list does: pages that start at the oldest item. */
const BACKWARDS = operationOf(
  parse(
    'query ($last: Int, $before: String) { list(last: $last, before: $before) { pageInfo { startCursor hasPreviousPage } } }',
  ),
);
const LIST = BACKWARDS.selectionSet.selections[0] as FieldNode;

/**
 * The document that reads an export's rows, derived from the document of the list's route. As a result, the export has
 * the same fields, filters, and access rules as the list. Fields that the list includes only on request are left out.
 *
 * @param at the path of fields to the rows or to the connection that contains them. The document selects nothing else.
 * @param isPaged whether that is a connection.
 */
export function exportDocument(list: DocumentNode, at: readonly string[], isPaged: boolean): DocumentNode {
  const document = withoutOptions(list);
  const operation = operationOf(document);
  const exporting: OperationDefinitionNode = {
    ...operation,
    variableDefinitions: [
      ...(operation.variableDefinitions ?? []),
      ...(isPaged ? (BACKWARDS.variableDefinitions ?? []) : []),
    ],
    selectionSet: { kind: Kind.SELECTION_SET, selections: [only(operation.selectionSet.selections, at)] },
  };
  return {
    ...document,
    definitions: document.definitions.map((definition) => (definition === operation ? exporting : definition)),
  };

  function only(selections: readonly SelectionNode[], [name, ...rest]: readonly string[]): FieldNode {
    const field = fieldIn(selections, name!);
    const inside = field.selectionSet!.selections;
    if (rest.length > 0) return withSelections(field, [only(inside, rest)]);
    if (!isPaged) return field;
    const backwards = { ...field, arguments: [...(field.arguments ?? []), ...(LIST.arguments ?? [])] };
    return withSelections(backwards, [fieldIn(inside, 'nodes'), ...LIST.selectionSet!.selections]);
  }
}

/** Removes everything with `@include`, and the variables that control it. */
function withoutOptions(document: DocumentNode): DocumentNode {
  const conditions = new Set<string>();
  const always = visit(document, {
    Field: (node) => (isOptional(node) ? null : undefined),
    FragmentSpread: (node) => (isOptional(node) ? null : undefined),
  });
  return visit(always, {
    VariableDefinition: ({ variable }) => (conditions.has(variable.name.value) ? null : undefined),
  });

  function isOptional({ directives = [] }: SelectionNode): boolean {
    const includes = directives.filter(({ name }) => name.value === 'include');
    for (const include of includes) visit(include, { Variable: ({ name }) => void conditions.add(name.value) });
    return includes.length > 0;
  }
}

function fieldIn(selections: readonly SelectionNode[], name: string): FieldNode {
  const field = selections.find((selection) => selection.kind === Kind.FIELD && selection.name.value === name);
  if (!field) throw new Error(`The document does not select ${name}`);
  return field as FieldNode;
}

function withSelections(field: FieldNode, selections: readonly SelectionNode[]): FieldNode {
  return { ...field, selectionSet: { kind: Kind.SELECTION_SET, selections } };
}
