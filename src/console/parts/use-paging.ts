import { useSearchParams } from 'wouter';

export type PageWindow = { first?: number; after?: string | null; last?: number; before?: string | null };
export type PageInfo = {
  startCursor?: string | null;
  endCursor?: string | null;
  hasNextPage: boolean;
  hasPreviousPage: boolean;
};

/** Whether to replace the browser's history entry instead of adding one. */
type Turn = { replace?: boolean };

/** Whether the URL shows the first page of its list. */
export function isFirstPage(parameters: URLSearchParams): boolean {
  return !parameters.has('after') && !parameters.has('before');
}

/** Removes the page from the URL's parameters, so the list starts over. */
export function toFirstPage(parameters: URLSearchParams): URLSearchParams {
  parameters.delete('after');
  parameters.delete('before');
  return parameters;
}

/**
 * A list's current page. Spread `variables` into the query, and pass the whole object to `Pager`. The page is kept in the
 * URL, next to the list's filters.
 */
export function usePaging(size = 25) {
  const [parameters, setParameters] = useSearchParams();
  const after = parameters.get('after');
  const before = parameters.get('before');
  function show(name: 'after' | 'before', cursor: string, turn?: Turn): void {
    setParameters((current) => {
      toFirstPage(current).set(name, cursor);
      return current;
    }, turn);
  }
  // An empty page has no cursors. The page before it is the list's last one, and the page after it the first one.
  const next = (cursor: string | null | undefined, turn?: Turn) =>
    cursor ? show('after', cursor, turn) : setParameters(toFirstPage, turn);
  const previous = (cursor: string | null | undefined, turn?: Turn) => show('before', cursor ?? '', turn);
  const variables: PageWindow =
    before === null ? { first: size, ...(after && { after }) } : { last: size, ...(before && { before }) };
  return { variables, next, previous };
}

export type Paging = ReturnType<typeof usePaging>;
