import type { GraphQLSchema } from 'graphql';
import { didYouMean, listAll, mustBeOneOf } from '../did-you-mean.ts';
import { AppError, type FieldError, toPointer } from '../errors.ts';
import {
  expansions,
  FORMAT_PARAMETER,
  PAGE_PARAMETERS,
  type QueryParameter,
  queryParameters,
  RESUME_PARAMETER,
} from './query-parameters.ts';
import type { RestRoute } from './routes/route.ts';
import { inAnyCase, ofText, toVariable } from './values.ts';

const MAX_PAGE_SIZE = 100;
/** How much of an unknown parameter's name to quote in an error message. */
const SHOWN_LENGTH = 64;
const ONLY_ONCE = 'Send this parameter only once.';

export type Query = Readonly<Record<string, string | string[] | undefined>>;
type Variables = Record<string, unknown>;

/** Turns a request's query into variables of the route's document. Throws AppError `VALIDATION_FAILED`. */
export type ReadQuery = (query: Query) => Variables;

/**
 * Creates the function that reads a route's query parameters. It rejects parameters that the route doesn't have.
 * Parameters with several values can also be spelled `status[]` or `status[0]`, as axios, qs, and PHP write lists.
 */
export function queryReader(schema: GraphQLSchema, route: RestRoute): ReadQuery {
  const parameters = queryParameters(schema, route);
  const expandable = expansions(route);
  const known = [
    ...(route.kind === 'list' ? PAGE_PARAMETERS : []),
    ...parameters.map(({ name }) => name),
    ...(expandable.size > 0 ? ['expand'] : []),
    ...(route.kind === 'export' ? [FORMAT_PARAMETER] : []),
    ...(route.resume ? [RESUME_PARAMETER] : []),
  ];
  const lists = new Set(parameters.filter(({ isList }) => isList).map(({ name }) => name));
  if (expandable.size > 0) lists.add('expand');
  return (asked) => {
    const query = withoutBrackets(asked, lists);
    const errors: FieldError[] = Object.keys(query)
      .filter((name) => !known.includes(name))
      .map((name) => ({ pointer: toPointer([shorten(name)]), message: unknownParameter(name, known, lists) }));
    const variables: Variables = {};
    if (route.kind === 'list') readPage(query, variables, errors);
    for (const parameter of parameters) readParameter(parameter, query[parameter.name], variables, errors);
    if (expandable.size > 0) readExpand(expandable, query.expand, variables, errors);
    if (errors.length > 0) throw new AppError('VALIDATION_FAILED', { fields: errors });
    return variables;
  };
}

/** A name with an empty pair of brackets, or an index in them. */
const LIST_ITEM = /^([^[\]]+)\[\d*\]$/;

/** Joins all spellings of each list: `status`, `status[]`, and `status[0]`. All other names stay as they are. */
function withoutBrackets(query: Query, lists: ReadonlySet<string>): Query {
  // Without a prototype, so that no name has a special meaning.
  const joined: Record<string, string | string[]> = Object.create(null);
  for (const [name, value = []] of Object.entries(query)) {
    const [, list] = LIST_ITEM.exec(name) ?? [];
    const key = list !== undefined && lists.has(list) ? list : name;
    joined[key] = key in joined ? [joined[key]!, value].flat() : value;
  }
  return joined;
}

function unknownParameter(name: string, known: readonly string[], lists: ReadonlySet<string>): string {
  const unknown = `Unknown parameter \`${shorten(name)}\`.`;
  const base = name.split('[', 1)[0]!;
  if (base !== name && known.includes(base)) {
    return lists.has(base)
      ? `${unknown} Send \`${base}\`, and repeat it for several values.`
      : `${unknown} Send \`${base}\`, without brackets, because it has only one value.`;
  }
  const [, , advice] = FROM_OTHER_APIS.find(([names, meant]) => names.test(name) && known.includes(meant)) ?? [];
  const suggestion = advice ?? (didYouMean(name, known) || listAll('parameter', known));
  return `${unknown}${suggestion || ' This route takes no query parameters.'}`;
}

/** Parameters of other APIs, the parameter that a route has instead, and what to say about it. */
const FROM_OTHER_APIS: readonly [names: RegExp, meant: string, advice: string][] = [
  [
    /^(page|offset|skip|cursor|(next_?)?page_?token|next_?cursor|starting_?after)$/i,
    // Only lists have `limit`. In exports, `after` isn't a cursor.
    'limit',
    ' To get the next page, send `nextCursor` as `after`.',
  ],
  [/^(per_?page|(page_?)?size|count|first|max_?results)$/i, 'limit', ' Did you mean `limit`?'],
  [/^(since|start(_?(date|time))?|(date|created)_?(from|after))$/i, 'from', ' Did you mean `from`?'],
  [/^(until|end(_?(date|time))?|(date|created)_?(to|until|before))$/i, 'to', ' Did you mean `to`?'],
  [/^(sort(_?by)?|order)$/i, 'orderBy', ' Did you mean `orderBy`?'],
  [/^(query|search|text|term)$/i, 'q', ' Did you mean `q`?'],
];

function shorten(name: string): string {
  return name.length > SHOWN_LENGTH ? `${name.slice(0, SHOWN_LENGTH).toWellFormed()}…` : name;
}

function readPage({ limit, after }: Query, variables: Variables, errors: FieldError[]): void {
  if (limit !== undefined) {
    if (typeof limit !== 'string' || !/^\d{1,3}$/.test(limit) || Number(limit) < 1 || Number(limit) > MAX_PAGE_SIZE) {
      errors.push({ pointer: '/limit', message: `Must be a whole number from 1 to ${MAX_PAGE_SIZE}.` });
    }
    variables.first = Number(limit);
  }
  if (typeof after === 'string') variables.after = after;
  else if (after !== undefined) errors.push({ pointer: '/after', message: ONLY_ONCE });
}

function readParameter(
  { name, to, type, isList, isRequired }: QueryParameter,
  given: Query[string],
  variables: Variables,
  errors: FieldError[],
): void {
  if (given === undefined) {
    if (isRequired) errors.push({ pointer: toPointer([name]), message: 'Required.' });
    return;
  }
  const values = isList ? itemsOf(given) : [given].flat();
  if (!isList && values.length > 1) {
    errors.push({ pointer: toPointer([name]), message: ONLY_ONCE });
    return;
  }
  const items = values.map((value) => ofText(type, value));
  assign(variables, to, toVariable(type, isList ? items : items[0], errors, [name]));
}

function readExpand(
  expandable: ReadonlyMap<string, string>,
  given: Query[string],
  variables: Variables,
  errors: FieldError[],
): void {
  for (const name of given === undefined ? [] : itemsOf(given)) {
    const known = inAnyCase(name, [...expandable.keys()]);
    if (known !== undefined) variables[expandable.get(known)!] = true;
    else {
      errors.push({ pointer: '/expand', message: mustBeOneOf(name, [...expandable.keys()]) });
    }
  }
}

/** The values of a parameter that can be repeated or contain several comma-separated values. */
const itemsOf = (given: string | string[]) => [given].flat().flatMap((item) => item.split(','));

function assign(target: Variables, [name, ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) target[name!] = value;
  else {
    target[name!] ??= {};
    assign(target[name!] as Variables, rest, value);
  }
}
