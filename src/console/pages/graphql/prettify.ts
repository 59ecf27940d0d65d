import type { Draft } from './operations.ts';

/** Formats the operation, including its comments, and the variables. Text that can't be parsed stays as it is. */
export async function prettify({ query, variables }: Draft): Promise<Draft> {
  // Loaded only when needed, because it is larger than the rest of the page.
  const [{ format }, graphql] = await Promise.all([import('prettier/standalone'), import('prettier/plugins/graphql')]);
  const formatted = format(query, { parser: 'graphql', plugins: [graphql] });
  return { query: await formatted.catch(() => query), variables: indented(variables) };
}

function indented(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}
