/**
 * An ID from one table, for a comparison with a column of another table that refers to it. Columns named `id` have the
 * collation "C", and most columns that refer to them have the default one. PostgreSQL compares the two with "C", so
 * without this, it can't use an index of the referring column, and reads the whole table. Parameters don't need it, and
 * neither do comparisons that look up an `id`.
 *
 * @param id an SQL expression, such as `p."id"`.
 */
export const asReference = (id: string): string => `${id} COLLATE "default"`;
