import type { z } from 'zod';

type Issue = { path: string; message: string };

/**
 * Requires an access token, a connected account, or the fields of the credential that is exchanged for access tokens.
 * Requests are built with a current access token even if the stored config has none, and the returned type reflects
 * that.
 *
 * @param credential the fields that the credential must have. `extra` fields may be added to them.
 */
export function requireCredential<Schema extends z.ZodObject>(
  schema: Schema,
  credential: readonly string[],
  extra: readonly string[] = [],
) {
  const checked = schema.superRefine((config, context) => {
    for (const { path, message } of issuesOf(config as Record<string, unknown>)) {
      context.addIssue({ code: 'custom', path: [path], message });
    }
  });

  function issuesOf(config: Record<string, unknown>): Issue[] {
    const missing = credential.filter((name) => config[name] === undefined);
    const isBegun = [...credential, ...extra].some((name) => config[name] !== undefined);
    if (missing.length === 0) return [];
    if (isBegun) {
      return missing.map((path) => ({ path, message: `Required together with ${list(without(credential, path))}.` }));
    }
    if (config.accessToken !== undefined || config.grant !== undefined) return [];
    return [{ path: 'accessToken', message: `Required unless you send ${list(credential)}.` }];
  }

  return checked as unknown as z.ZodType<Omit<z.output<Schema>, 'accessToken'> & { accessToken: string }>;
}

const without = (names: readonly string[], name: string) => names.filter((other) => other !== name);
const list = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(' and ');
