/**
 * Checks a member of a library that this code changes, or calls although it isn't part of the documented interface. Call
 * it at startup: without the member, the code around the call would silently do nothing.
 *
 * @param library the name and version of the library that the code was written for, such as `pg 8.23.1`. A test compares
 *   the version with package.json, so that someone looks at the code before an upgrade.
 * @param path a path from `object`, such as `connection.stream.destroy`
 * @throws Error if there is no function at the path
 */
export function requireMember(library: `${string} ${string}`, object: unknown, path: string): void {
  let found = object;
  for (const name of path.split('.')) found = (found as Record<string, unknown> | undefined)?.[name];
  if (typeof found === 'function') return;
  throw new Error(
    `Tollgate was written for ${library} and needs its function ${path}, but this version doesn't have it. Install the versions in package-lock.json.`,
  );
}
