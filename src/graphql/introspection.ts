import {
  type ExecutionArgs,
  type ExecutionResult,
  type FragmentDefinitionNode,
  GraphQLError,
  type GraphQLField,
  type GraphQLObjectType,
  getArgumentValues,
  getNamedType,
  getOperationAST,
  isObjectType,
  Kind,
  SchemaMetaFieldDef,
  type SelectionNode,
  type SelectionSetNode,
  TypeMetaFieldDef,
} from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { GraphQLContext } from '../schema/context.ts';
import { MAX_COST } from '../schema/cost.ts';

/** A response of this many bytes costs one point. */
const BYTES_PER_POINT = 100;
const MAX_BYTES = (MAX_COST + 1) * BYTES_PER_POINT;
const POINTS_PER_REQUEST = 1_000;
/** Only a document with variables can have several prices. */
const MAX_KEPT_PER_DOCUMENT = 4;
/** Longer variables would take more memory than the cached price or result. */
const MAX_KEY_CHARACTERS = 1_000;
/** The total size of all cached results as JSON. As objects, they take several times as much memory. */
const MAX_KEPT_BYTES = 5_000_000;
/** Quotes, a colon, and a comma. */
const BYTES_AROUND_FIELD = 4;

/** What a document's introspections cost, and how many times it selects `__schema`. */
export type IntrospectionPrice = { points: number; schemas: number };

const FREE: IntrospectionPrice = { points: 0, schemas: 0 };
const prices = new WeakMap<ExecutionArgs['document'], Map<string, IntrospectionPrice>>();

/**
 * The price of a document's introspections is the length of the response, which depends only on the schema. Prices
 * above `MAX_COST` are only approximate.
 */
export function priceIntrospection(args: ExecutionArgs): IntrospectionPrice {
  const introspections = rootFields(args).filter(({ name }) => name.value in META_FIELDS);
  if (introspections.length === 0) return FREE;
  const key = keyOf(args);
  const known = prices.get(args.document) ?? new Map<string, IntrospectionPrice>();
  prices.set(args.document, known);
  const price = known.get(key) ?? measure(args, introspections);
  if (known.size < MAX_KEPT_PER_DOCUMENT && key.length <= MAX_KEY_CHARACTERS) known.set(key, price);
  return price;
}

/**
 * Counts introspections as one request for each 1,000 points. Caches the latest results of operations that contain only
 * introspections, because these results are the same for everyone.
 */
export function countIntrospections(): Plugin<GraphQLContext> {
  const results = createResults();
  return {
    onExecute({ args, executeFn, setExecuteFn }) {
      const operation = args as ExecutionArgs;
      const { points } = priceIntrospection(operation);
      if (points === 0) return undefined;
      if (isIntrospection(operation)) setExecuteFn(async () => ({ ...(results.get(operation) ?? (await run())) }));
      const requests = Math.ceil(points / POINTS_PER_REQUEST);
      return requests > 1 ? args.contextValue.countMore?.(requests - 1) : undefined;

      async function run(): Promise<ExecutionResult> {
        const result = (await executeFn(args)) as ExecutionResult;
        if (!result.errors) results.keep(operation, result, points * BYTES_PER_POINT);
        return result;
      }
    },
  };
}

/** Caches the latest results by document text, operation, and variables. */
function createResults() {
  const kept = new Map<string, { result: ExecutionResult; bytes: number }>();
  let keptBytes = 0;
  const keyWithText = (args: ExecutionArgs) => (args.document.loc?.source.body ?? '') + keyOf(args);
  return {
    get: (args: ExecutionArgs) => kept.get(keyWithText(args))?.result,
    keep(args: ExecutionArgs, result: ExecutionResult, resultBytes: number): void {
      const key = keyWithText(args);
      if (!args.document.loc || keyOf(args).length > MAX_KEY_CHARACTERS || kept.has(key)) return;
      const bytes = resultBytes + key.length;
      kept.set(key, { result, bytes });
      keptBytes += bytes;
      for (const [oldest, entry] of kept) {
        if (keptBytes <= MAX_KEPT_BYTES) break;
        kept.delete(oldest);
        keptBytes -= entry.bytes;
      }
    },
  };
}

function keyOf({ operationName, variableValues }: ExecutionArgs): string {
  return JSON.stringify([operationName, variableValues]);
}

type FieldNode = Extract<SelectionNode, { kind: Kind.FIELD }>;
type Field = GraphQLField<unknown, unknown>;

const META_FIELDS: Readonly<Record<string, Field>> = {
  [SchemaMetaFieldDef.name]: SchemaMetaFieldDef,
  [TypeMetaFieldDef.name]: TypeMetaFieldDef,
};

function isIntrospection(args: ExecutionArgs): boolean {
  return rootFields(args).every(({ name }) => name.value.startsWith('__'));
}

function rootFields({ document, operationName }: ExecutionArgs): FieldNode[] {
  const operation = getOperationAST(document, operationName);
  return operation?.operation === 'query' ? fieldsIn(operation.selectionSet, document) : [];
}

/**
 * A selection's fields, including the fields of its fragments. Each fragment counts once, as in execution. Otherwise, a
 * few fragments that select one another many times would have billions of fields.
 */
function fieldsIn(
  { selections }: SelectionSetNode,
  document: ExecutionArgs['document'],
  seen = new Set<FragmentDefinitionNode>(),
): FieldNode[] {
  return selections.flatMap((selection) => {
    if (selection.kind === Kind.FIELD) return [selection];
    if (selection.kind === Kind.INLINE_FRAGMENT) return fieldsIn(selection.selectionSet, document, seen);
    const fragment = document.definitions.find(
      (definition): definition is FragmentDefinitionNode =>
        definition.kind === Kind.FRAGMENT_DEFINITION && definition.name.value === selection.name.value,
    );
    if (!fragment || seen.has(fragment)) return [];
    seen.add(fragment);
    return fieldsIn(fragment.selectionSet, document, seen);
  });
}

function measure(args: ExecutionArgs, introspections: readonly FieldNode[]): IntrospectionPrice {
  const schemas = introspections.filter(({ name }) => name.value === SchemaMetaFieldDef.name).length;
  const lengthOf = createMeter(args);
  const bytes = introspections.reduce((sum, node) => sum + lengthOf(node, META_FIELDS[node.name.value]!), 0);
  return { points: bytes / BYTES_PER_POINT, schemas };
}

/** Returns a function that estimates the size of a field's result. It stops at `MAX_BYTES`. */
function createMeter(args: ExecutionArgs): (node: FieldNode, field: Field) => number {
  const { document, schema, variableValues } = args;
  const fieldsOf = new Map<SelectionSetNode, FieldNode[]>();
  const valuesOf = new Map<FieldNode, ReturnType<typeof getArgumentValues> | undefined>();
  const lengths = new Map<SelectionSetNode, Map<unknown, number>>();
  let isOver = false;

  function lengthOfField(node: FieldNode, field: Field, source: unknown): number {
    const name = (node.alias ?? node.name).value.length + BYTES_AROUND_FIELD;
    const values = once(valuesOf, node, () => argumentsOf(node, field));
    // Introspection resolvers use only the schema.
    const value = values && field.resolve?.(source, values, undefined, { schema } as never);
    const type = getNamedType(field.type);
    const { selectionSet } = node;
    if (!selectionSet || !isObjectType(type)) return name + lengthOfLeaf(value);
    return sum(Array.isArray(value) ? value : [value], name, (item) =>
      item == null ? 'null,'.length : lengthOfObject(selectionSet, type, item),
    );
  }

  function lengthOfObject(selectionSet: SelectionSetNode, type: GraphQLObjectType, source: unknown): number {
    const known = once(lengths, selectionSet, () => new Map<unknown, number>());
    return once(known, source, () => {
      const fields = once(fieldsOf, selectionSet, () => fieldsIn(selectionSet, document));
      return sum(fields, '{},'.length, (node) => {
        const field = type.getFields()[node.name.value];
        return field ? lengthOfField(node, field, source) : BYTES_AROUND_FIELD + node.name.value.length;
      });
    });
  }

  function sum<Item>(items: readonly Item[], start: number, lengthOf: (item: Item) => number): number {
    let length = start;
    for (const item of items) {
      if (isOver) return length;
      length += lengthOf(item);
      isOver ||= length > MAX_BYTES;
    }
    return length;
  }

  /** Returns undefined for values that execution rejects. */
  function argumentsOf(node: FieldNode, field: Field) {
    try {
      return getArgumentValues(field, node, { ...variableValues });
    } catch (error) {
      if (error instanceof GraphQLError) return undefined;
      throw error;
    }
  }

  return (node, field) => lengthOfField(node, field, undefined);
}

function lengthOfLeaf(value: unknown): number {
  return typeof value === 'string' ? value.length + '""'.length : String(value).length;
}

function once<Key, Value>(known: Map<Key, Value>, key: Key, make: () => Value): Value {
  if (known.has(key)) return known.get(key)!;
  const value = make();
  known.set(key, value);
  return value;
}
