/**
 * Returns a row that was loaded without Pothos's query, such as the result of a mutation. Pothos loads what else the
 * document selects, with one statement. In tests and development, a resolver that ignores its query is an error, so
 * this reads the query.
 *
 * @param row a row or a promise of one.
 */
export function loadedRow<Row>(query: object, row: Row): Row {
  Object.values(query);
  return row;
}
