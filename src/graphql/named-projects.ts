import { isId } from '../ids.ts';

const PROJECT_ID = /\bproj_[0-9a-z]{26}\b/g;
/** No document of mutations is about more projects. Longer lists come from text, such as an imported document. */
const MAX_PROJECTS = 100;
const MAX_OCCURRENCES = 1_000;

/** The IDs of the first projects that a text names. There is a limit, because each of them is looked up. */
export function projectsNamedIn(text: string): string[] {
  const named = new Set<string>();
  let occurrences = 0;
  for (const [id] of text.matchAll(PROJECT_ID)) {
    if (isId('Project', id)) named.add(id);
    occurrences += 1;
    if (named.size >= MAX_PROJECTS || occurrences >= MAX_OCCURRENCES) break;
  }
  return [...named];
}
