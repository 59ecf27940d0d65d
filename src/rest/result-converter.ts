import {
  type DocumentNode,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  isEnumType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type SelectionSetNode,
} from 'graphql';
import { operationOf, rootType } from './document-types.ts';

/** Converts the enum values in a result, or in part of one, to their REST names. Changes objects in place. */
export type Convert = (value: unknown) => unknown;

/**
 * Prepares the conversion of a document's results from GraphQL to REST, which differ only in the names of enum values.
 * Doesn't touch values without enums.
 */
export function resultConverter(schema: GraphQLSchema, document: DocumentNode): Convert {
  const fragments = new Map(
    document.definitions.flatMap((definition) =>
      definition.kind === Kind.FRAGMENT_DEFINITION ? [[definition.name.value, definition] as const] : [],
    ),
  );

  function converterOf(type: GraphQLOutputType, selections: SelectionSetNode | undefined): Convert | undefined {
    if (isNonNullType(type)) return converterOf(type.ofType, selections);
    if (isListType(type)) {
      const convert = converterOf(type.ofType, selections);
      return convert && unlessNull((items) => (items as unknown[]).map(convert));
    }
    if (isEnumType(type)) return unlessNull((name) => type.getValue(name as string)?.value);
    if (!isObjectType(type) || !selections) return undefined;
    const fields = fieldsOf(type, selections);
    if (fields.length === 0) return undefined;
    return unlessNull((value) => {
      const object = value as Record<string, unknown>;
      for (const [name, convert] of fields) if (name in object) object[name] = convert(object[name]);
      return object;
    });
  }

  /** The selected fields that have to be converted. */
  function fieldsOf(type: GraphQLObjectType, { selections }: SelectionSetNode): [name: string, Convert][] {
    return selections.flatMap((selection) => {
      if (selection.kind === Kind.INLINE_FRAGMENT) return fieldsOf(type, selection.selectionSet);
      if (selection.kind === Kind.FRAGMENT_SPREAD)
        return fieldsOf(type, fragments.get(selection.name.value)!.selectionSet);
      const field = type.getFields()[selection.name.value];
      const convert = field && converterOf(field.type, selection.selectionSet);
      return convert ? [[(selection.alias ?? selection.name).value, convert] as [string, Convert]] : [];
    });
  }

  return converterOf(rootType(schema, document), operationOf(document).selectionSet) ?? ((value) => value);
}

const unlessNull =
  (convert: Convert): Convert =>
  (value) =>
    value === null || value === undefined ? value : convert(value);
