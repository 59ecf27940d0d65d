/**
 * The SQL for a limit that the planner doesn't know, so it assumes that a tenth of the rows is wanted. With a known limit
 * of more rows than it expects, sorting the rows of any index looks just as cheap as reading the index that has the
 * order. With this, the index wins even if the statistics say that there are no rows at all.
 */
export const unplanned = (limit: number | string) => `(SELECT ${limit})`;
