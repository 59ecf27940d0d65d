import { brandWithType } from '@pothos/core';
import { queryFromInfo } from '@pothos/plugin-prisma';
import { type GraphQLObjectType, type GraphQLResolveInfo, isObjectType } from 'graphql';
import { invalidField } from '../errors.ts';
import type { PrismaClient } from '../generated/prisma/client.ts';
import { requireMember } from '../library-member.ts';
import type { GraphQLContext } from './context.ts';
import { MAX_PAGE_SIZE } from './cost.ts';

/** An ID with the type that its prefix names. */
export type TypedId = { id: string; typename: string };
type Row = { id: string };
type Delegate = { findMany(query: object): Promise<Row[]> };
/** What Pothos keeps for each `prismaNode`: `findUnique`, the filter for one node that the caller can see. */
type Loader = { findUnique(node: Row, context: GraphQLContext): object | Promise<object> };

/** Whether text is the ID of a node. Attempts also have IDs, but they aren't nodes. */
export function isNodeId({ schema }: GraphQLResolveInfo, { typename }: TypedId): boolean {
  const type = schema.getType(typename);
  return isObjectType(type) && type.getInterfaces().some(({ name }) => name === 'Node');
}

/**
 * Loads nodes with one statement per type, and one for each relation that the document selects.
 *
 * @param resolveNodes loads nodes that aren't rows of a table.
 * @returns the nodes in the order of the IDs, with null for those that don't exist or that the caller can't see.
 * @throws AppError `VALIDATION_FAILED` for more than 100 IDs.
 */
export async function loadNodes(
  ids: readonly TypedId[],
  context: GraphQLContext,
  info: GraphQLResolveInfo,
  resolveNodes: (ids: TypedId[]) => Promise<unknown[]>,
): Promise<(Row | null)[]> {
  if (ids.length > MAX_PAGE_SIZE) throw invalidField('/ids', `Must have at most ${MAX_PAGE_SIZE} IDs.`);
  const byType = Map.groupBy(
    ids.filter((id) => isNodeId(info, id)),
    ({ typename }) => typename,
  );
  const found = await Promise.all(
    [...byType].map(async ([typename, sameType]) => {
      const model = modelOf(info, typename);
      if (model === undefined) {
        const nodes = await Promise.all(await resolveNodes(sameType));
        return nodes.filter((node) => node !== null) as Row[];
      }
      const relations = queryFromInfo({ context, info, typeName: typename });
      const where = await loaderOf(info, typename, context).findUnique(sameType[0]!, context);
      const delegate = delegateOf(context.prisma, model);
      const wanted = { id: { in: [...new Set(sameType.map(({ id }) => id))] } };
      const rows = await delegate.findMany({ ...relations, where: { ...where, ...wanted } });
      for (const row of rows) brandWithType(row, typename as never);
      return rows;
    }),
  );
  const byId = new Map(found.flat().map((row) => [row.id, row]));
  return ids.map(({ id }) => byId.get(id) ?? null);
}

/** Checks that Pothos keeps the loader of a type that has a table where `loadNodes` looks for it. */
export function requireNodeLoader({ extensions }: GraphQLObjectType): void {
  if (extensions.pothosPrismaModel) requireMember('@pothos/plugin-prisma 4.17.0', extensions, 'pothosPrismaLoader');
}

function loaderOf({ schema }: GraphQLResolveInfo, typename: string, context: GraphQLContext): Loader {
  return (schema.getType(typename)!.extensions.pothosPrismaLoader as (context: GraphQLContext) => Loader)(context);
}

/** The model of a type, whose name can differ from the type's, or undefined if the type has no table. */
function modelOf({ schema }: GraphQLResolveInfo, typename: string): string | undefined {
  return schema.getType(typename)!.extensions.pothosPrismaModel as string | undefined;
}

function delegateOf(prisma: PrismaClient, model: string): Delegate {
  const name = `${model.charAt(0).toLowerCase()}${model.slice(1)}`;
  return (prisma as unknown as Record<string, Delegate>)[name]!;
}
