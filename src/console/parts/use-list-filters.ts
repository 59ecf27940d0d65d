import { useMemo } from 'react';
import type { CombinedError } from 'urql';
import { useSearch, useSearchParams } from 'wouter';
import { errorsByField, type Problem, toProblem } from '../api/problem.ts';
import {
  type FilterFields,
  type FilterValues,
  filterNamed,
  graphqlFilter,
  LIST_FILTERS,
  type ListName,
  restFilters,
  valuesIn,
} from './list-filters.ts';
import { isFirstPage, toFirstPage } from './use-paging.ts';

export type ListFilters<Filter = unknown> = {
  fields: FilterFields;
  values: FilterValues;
  /** The filter for GraphQL. It remains the same object until the filters change. */
  filter: Filter;
  /** The filters for an export. */
  exported: FilterValues;
  isFiltered: boolean;
  isFirstPage: boolean;
  set(name: string, values: readonly string[]): void;
  clear(): void;
  /** Adds the filters and the page to the address of one of the list's items. */
  keepIn(path: string): string;
  /** Splits a query's error into messages for the filters, and the problem that remains. */
  split(error: CombinedError | undefined): { atFilters: Readonly<Record<string, string>>; problem?: Problem };
};

/**
 * A list's filters. They are kept in the page's URL, so you can link to a filtered list, reload it, and go back. If one
 * changes, the list starts over on its first page.
 */
export function useListFilters<Filter>(list: ListName): ListFilters<Filter> {
  const search = useSearch();
  const [parameters, setParameters] = useSearchParams();
  const fields: FilterFields = LIST_FILTERS[list];
  const key = JSON.stringify(valuesIn(fields, parameters));
  const values = useMemo(() => JSON.parse(key) as FilterValues, [key]);
  // The table contains exactly the fields of the list's input type.
  const filter = useMemo(() => graphqlFilter(fields, values) as Filter, [fields, values]);
  const names = Object.keys(fields).filter((name) => fields[name]!.kind !== 'order');

  function change(changed: FilterValues): void {
    setParameters((current) => {
      for (const [name, selected] of Object.entries(changed)) {
        current.delete(name);
        for (const value of selected) current.append(name, value);
      }
      return toFirstPage(current);
    });
  }

  function split(error: CombinedError | undefined) {
    if (!error) return { atFilters: {} };
    const problem = toProblem(error);
    const messages = Object.entries(errorsByField(problem)).map(
      // The pointer is relative to the filter or to the query's variables.
      ([path, message]) => [filterNamed(fields, path.split('.').at(-1)!), message] as const,
    );
    const isAtFilters = messages.length > 0 && messages.every(([name]) => name !== undefined);
    return isAtFilters ? { atFilters: Object.fromEntries(messages) } : { atFilters: {}, problem };
  }

  return {
    fields,
    values,
    filter,
    split,
    exported: restFilters(fields, values),
    isFiltered: names.some((name) => values[name]),
    isFirstPage: isFirstPage(parameters),
    set: (name, selected) => change({ [name]: selected }),
    clear: () => change(Object.fromEntries(names.map((name) => [name, []]))),
    keepIn: (path) => (search ? `${path}?${search}` : path),
  };
}
