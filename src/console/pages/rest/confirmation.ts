import type { Operation, ParameterValues } from '../../api/openapi.ts';

const LAST_CHARACTERS = 6;

/** What the user must type before a deletion: the end of the deleted item's ID, or “delete” if the path doesn't end in
 * an ID. */
export function typedBeforeDeletion({ path }: Operation, values: ParameterValues): string {
  const [, name] = /\{(\w+)\}$/.exec(path) ?? [];
  const id = name && values[name];
  return id ? id.slice(-LAST_CHARACTERS) : 'delete';
}
