import { COUNT_LIMIT } from '../database/count-limit.ts';
import type { builder } from './builder.ts';
import type { Countable } from './connections.ts';

type SchemaTypes = typeof builder.$inferSchemaTypes;
/** The cost of a count, in points. A count can read as many index entries as the limit allows. */
export const COUNT_COST = 10;
/** Says when a count is null. Used in descriptions. */
export const COUNT_NULL = `Null if there are more than ${COUNT_LIMIT.toLocaleString('en-US')}.`;

/** The field `totalCount` of a connection. It is computed only if a document selects it. */
export function totalCountField(t: PothosSchemaTypes.ObjectFieldBuilder<SchemaTypes, Countable>) {
  return {
    totalCount: t.int({
      nullable: true,
      complexity: { field: COUNT_COST, multiplier: 1 },
      description: `The number of items in the whole list. ${COUNT_NULL}`,
      resolve: ({ countAll }) => countAll?.() ?? null,
    }),
  };
}
