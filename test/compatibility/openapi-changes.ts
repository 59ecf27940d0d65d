/** Any object in an OpenAPI document. */
type Json = { [key: string]: unknown };

/**
 * Lists the changes between two OpenAPI documents that break existing clients: removed or changed operations,
 * responses, and response fields, as well as parameters and request fields that are newly required or no longer
 * accepted. Each line names the place. Operations, parameters, and fields that were deprecated may be removed after the
 * date in their `x-sunset`.
 *
 * @param today `YYYY-MM-DD`.
 */
export function breakingChanges(before: Json, after: Json, today = new Date().toISOString().slice(0, 10)): string[] {
  const changes: string[] = [];
  const documents = { before, after, today };
  for (const [name, was] of operationsOf(before)) {
    const is = operationsOf(after).get(name);
    if (is) changes.push(...operationChanges(was, is, documents).map((change) => `${name}: ${change}`));
    else if (!mayBeRemoved(was, documents)) changes.push(`${name}: was removed`);
  }
  return changes;
}

type Documents = { before: Json; after: Json; today: string };
type Direction = 'request' | 'answer';

function mayBeRemoved({ deprecated, 'x-sunset': sunset }: Json, { today }: Documents): boolean {
  return deprecated === true && typeof sunset === 'string' && sunset < today;
}

function operationsOf(document: Json): Map<string, Json> {
  return new Map(
    Object.entries(document.paths as Record<string, Record<string, Json>>).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const),
    ),
  );
}

function operationChanges(was: Json, is: Json, documents: Documents): string[] {
  const responses = Object.entries(was.responses as Record<string, Json>).flatMap(([status, response]) => {
    const now = (is.responses as Record<string, Json>)[status];
    return now ? contentChanges(response, now, 'answer', documents, status) : [`no longer returns ${status}`];
  });
  const bodies = contentChanges(
    (was.requestBody ?? {}) as Json,
    (is.requestBody ?? {}) as Json,
    'request',
    documents,
    'body',
  );
  return [...parameterChanges(was, is, documents), ...bodies, ...responses];
}

function parameterChanges(was: Json, is: Json, documents: Documents): string[] {
  const byName = ({ parameters = [] }: Json) =>
    new Map((parameters as Json[]).map((parameter) => [`${parameter.in} parameter ${parameter.name}`, parameter]));
  const [old, current] = [byName(was), byName(is)];
  return [
    ...[...old].flatMap(([name, parameter]) => {
      const now = current.get(name);
      if (!now) return mayBeRemoved(parameter, documents) ? [] : [`${name} is no longer accepted`];
      return schemaChanges(parameter.schema as Json, now.schema as Json, 'request', documents, name);
    }),
    ...[...current]
      .filter(([name, { required }]) => required && !old.get(name)?.required)
      .map(([name]) => `${name} has become required`),
  ];
}

function contentChanges(was: Json, is: Json, direction: Direction, documents: Documents, place: string): string[] {
  const now = (is.content ?? {}) as Record<string, Json>;
  const changes = Object.entries((was.content ?? {}) as Record<string, Json>).flatMap(([type, { schema }]) =>
    now[type]
      ? schemaChanges(schema as Json, now[type].schema as Json, direction, documents, place)
      : [`${place}: ${type} was removed`],
  );
  return is.required && !was.required ? [...changes, `${place} has become required`] : changes;
}

function schemaChanges(was: Json, is: Json, direction: Direction, documents: Documents, place: string): string[] {
  const old = resolved(was, documents.before);
  const now = resolved(is, documents.after);
  const changes = typeChanges(old, now, direction).map((change) => `${place} ${change}`);
  if (old.items && now.items)
    changes.push(...schemaChanges(old.items as Json, now.items as Json, direction, documents, `${place}[]`));

  const oldRequired = new Set(old.required as string[] | undefined);
  const nowRequired = new Set(now.required as string[] | undefined);
  const nowProperties = (now.properties ?? {}) as Record<string, Json>;
  for (const [name, property] of Object.entries((old.properties ?? {}) as Record<string, Json>)) {
    const at = `${place}.${name}`;
    const current = nowProperties[name];
    if (!current) {
      if (mayBeRemoved(property, documents)) continue;
      changes.push(`${at} ${direction === 'request' ? 'is no longer accepted' : 'was removed'}`);
    } else changes.push(...schemaChanges(property, current, direction, documents, at));
    if (direction === 'answer' && current && oldRequired.has(name) && !nowRequired.has(name))
      changes.push(`${at} can be missing`);
  }
  if (direction === 'request')
    for (const name of nowRequired) if (!oldRequired.has(name)) changes.push(`${place}.${name} has become required`);
  return changes;
}

/** Responses can return fewer values than before, and requests can accept more. */
function typeChanges(old: Json, now: Json, direction: Direction): string[] {
  const changes: string[] = [];
  for (const [keyword, of] of [
    ['type', (value: unknown) => [value ?? []].flat()],
    ['enum', (value: unknown) => (value ?? []) as unknown[]],
  ] as const) {
    const [was, is] = [of(old[keyword]), of(now[keyword])];
    const lost = was.filter((value) => is.length > 0 && !is.includes(value));
    const gained = is.filter((value) => !was.includes(value));
    if (direction === 'request' && (lost.length > 0 || (was.length === 0 && is.length > 0)))
      changes.push(`no longer accepts the ${keyword} ${(lost.length > 0 ? lost : ['any']).join(', ')}`);
    // Clients have to accept new enum values in responses, but not new types. If there was no type, any value was
    // possible.
    if (direction === 'answer' && keyword === 'type' && was.length > 0 && gained.length > 0)
      changes.push(`can have the ${keyword} ${gained.join(', ')}`);
  }
  return changes;
}

/** Resolves references and merges `allOf` or alternatives into one object. */
function resolved(schema: Json, document: Json): Json {
  if (typeof schema.$ref === 'string') {
    const name = schema.$ref.split('/').at(-1)!;
    return resolved((document.components as { schemas: Record<string, Json> }).schemas[name]!, document);
  }
  const choices = (schema.allOf ?? schema.anyOf ?? schema.oneOf) as Json[] | undefined;
  const parts = choices?.map((part) => resolved(part, document));
  if (!parts) return schema;
  return {
    type: schema.allOf ? 'object' : parts.flatMap(({ type }) => type ?? []),
    enum: parts.flatMap((part) => (part.enum as unknown[]) ?? []),
    required: requiredIn(parts, schema.allOf !== undefined),
    properties: mergedProperties(parts),
  };
}

/** The fields that are required in all parts of an `allOf`, or in every alternative. */
function requiredIn(parts: readonly Json[], isAllOf: boolean): string[] {
  const lists = parts.filter(({ type }) => type !== 'null').map(({ required = [] }) => required as string[]);
  return isAllOf ? lists.flat() : (lists[0]?.filter((name) => lists.every((list) => list.includes(name))) ?? []);
}

/** A property that several parts have can have the values of each. */
function mergedProperties(parts: readonly Json[]): Record<string, Json> {
  const merged: Record<string, Json[]> = {};
  for (const { properties = {} } of parts)
    for (const [name, property] of Object.entries(properties as Record<string, Json>))
      merged[name] = [...(merged[name] ?? []), property];
  return Object.fromEntries(
    Object.entries(merged).map(([name, found]) => [name, found.length === 1 ? found[0]! : { anyOf: found }]),
  );
}
