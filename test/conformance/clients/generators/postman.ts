type Variable = { key: string; value: string };
type Request = {
  method: string;
  url: { host: string[]; path: string[]; query: (Variable & { disabled?: boolean })[]; variable: Variable[] };
  header: (Variable & { disabled?: boolean })[];
  body?: { mode: 'raw'; raw: string };
};
type Item = { name: string; item?: Item[]; request?: Request };

/** The parts of a Postman collection (schema v2.1) that a request is made of. */
export type Collection = { item: Item[]; variable: Variable[] };

/**
 * Sends the requests of a collection as Postman does: with its variables, and with the headers, parameters, and body of
 * the saved request.
 *
 * @returns the function that sends a request by its name. `values` are the path and query parameters, and `body` replaces
 *   the saved body.
 */
export function openCollection({ item, variable }: Collection, token: string) {
  const requests = new Map([...requestsIn(item)]);
  const variables = new Map([...variable.map(({ key, value }) => [key, value] as const), ['bearerToken', token]]);
  const filled = (text: string) => text.replaceAll(/\{\{(\w+)\}\}/g, (_all, name: string) => variables.get(name) ?? '');

  return async (name: string, values: Record<string, string>, body?: object) => {
    const request = requests.get(name);
    if (!request) throw new Error(`No request ${name}. There are ${[...requests.keys()].join(', ')}`);
    const { host, path, query } = request.url;
    const segments = path.map((segment) => (segment.startsWith(':') ? values[segment.slice(1)]! : filled(segment)));
    const url = new URL(`${filled(host.join('.'))}/${segments.join('/')}`);
    for (const { key, value, disabled } of query) {
      const sent = values[key] ?? (disabled ? undefined : filled(value));
      if (sent !== undefined) url.searchParams.append(key, sent);
    }
    const headers = request.header.filter(({ disabled }) => !disabled).map(({ key, value }) => [key, filled(value)]);
    const response = await fetch(url, {
      method: request.method,
      headers: [
        ...headers.map(([key, value]) => [key, value] as [string, string]),
        ['Authorization', `Bearer ${token}`],
      ],
      ...(request.body && { body: body ? JSON.stringify(body) : request.body.raw }),
    });
    const text = await response.text();
    const { status, headers: received } = response;
    return { status, headers: received, body: (text ? JSON.parse(text) : undefined) as unknown };
  };
}

function* requestsIn(items: readonly Item[]): Generator<[string, Request]> {
  for (const { name, request, item } of items) {
    if (request) yield [name, request];
    if (item) yield* requestsIn(item);
  }
}
