import type { GraphQLSchema } from 'graphql';
import { didYouMean, mustBeOneOf } from '../did-you-mean.ts';
import { AppError, type FieldError, toPointer } from '../errors.ts';
import { expansions, PAGE_PARAMETERS, type QueryParameter, queryParameters } from './query-parameters.ts';
import type { RestRoute } from './routes/route.ts';
import { ofText, toVariable } from './values.ts';

const MAX_PAGE_SIZE = 100;
/** How much of an unknown parameter's name to quote in an error message. */
const SHOWN_LENGTH = 64;

export type Query = Readonly<Record<string, string | string[] | undefined>>;
type Variables = Record<string, unknown>;

/** Turns a request's query into variables of the route's document. Throws AppError `VALIDATION_FAILED`. */
export type ReadQuery = (query: Query) => Variables;

/** Creates the function that reads a route's query parameters. It rejects parameters that the route doesn't have. */
export function queryReader(schema: GraphQLSchema, route: RestRoute): ReadQuery {
  const parameters = queryParameters(schema, route);
  const expandable = expansions(route);
  const known = [
    ...(route.kind === 'list' ? PAGE_PARAMETERS : []),
    ...parameters.map(({ name }) => name),
    ...(expandable.size > 0 ? ['expand'] : []),
  ];
  return (query) => {
    const errors: FieldError[] = Object.keys(query)
      .filter((name) => !known.includes(name))
      .map((name) => ({ pointer: toPointer([shorten(name)]), message: unknownParameter(name, known) }));
    const variables: Variables = {};
    if (route.kind === 'list') readPage(query, variables, errors);
    for (const parameter of parameters) readParameter(parameter, query[parameter.name], variables, errors);
    if (expandable.size > 0) readExpand(expandable, query.expand, variables, errors);
    if (errors.length > 0) throw new AppError('VALIDATION_FAILED', { fields: errors });
    return variables;
  };
}

function unknownParameter(name: string, known: readonly string[]): string {
  const nearest = didYouMean(name, known);
  const all = known.length > 0 ? ` The parameters are ${known.join(', ')}.` : ' This route takes no query parameters.';
  return `Unknown parameter \`${shorten(name)}\`.${nearest || all}`;
}

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
  if (after !== undefined) variables.after = typeof after === 'string' ? after : '';
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
  const value = isList ? itemsOf(given).map((item) => ofText(type, item)) : ofText(type, [given].flat().at(-1));
  assign(variables, to, toVariable(type, value, errors, [name]));
}

function readExpand(
  expandable: ReadonlyMap<string, string>,
  given: Query[string],
  variables: Variables,
  errors: FieldError[],
): void {
  for (const name of given === undefined ? [] : itemsOf(given)) {
    const variable = expandable.get(name);
    if (variable) variables[variable] = true;
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
