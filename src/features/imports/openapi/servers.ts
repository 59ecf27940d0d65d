import type { JsonObject } from './document.ts';
import { type Budget, isObject, listOf, own, spendSteps, textOf } from './values.ts';

const MAX_SERVERS = 10;
const MAX_LENGTH = 2_048;

/** The URLs of servers (OpenAPI 3), with variables replaced by their default values. */
export function serversOf(servers: unknown, budget: Budget): string[] {
  return listOf(servers)
    .slice(0, MAX_SERVERS)
    .map((server) => {
      const url = textOf(own(server, 'url'))?.slice(0, MAX_LENGTH);
      const variables = own(server, 'variables');
      spendSteps(budget, url?.length ?? 0);
      return url?.replaceAll(/\{([^{}]*)\}/g, (placeholder, name: string) => {
        const value = isObject(variables) ? own(own(variables, name), 'default') : undefined;
        const text = typeof value === 'string' || typeof value === 'number' ? String(value) : placeholder;
        spendSteps(budget, text.length);
        return text;
      });
    })
    .filter((url) => url !== undefined && url.length <= MAX_LENGTH) as string[];
}

/** The URL of the API (Swagger 2.0), relative to the document if the API has no host. */
export function swaggerServers(document: JsonObject): string[] {
  const host = textOf(own(document, 'host'));
  const basePath = textOf(own(document, 'basePath')) ?? '/';
  if (host === undefined) return own(document, 'basePath') === undefined ? [] : [basePath.slice(0, MAX_LENGTH)];
  const schemes = listOf(own(document, 'schemes'));
  const scheme = schemes.length === 0 || schemes.includes('https') ? 'https' : 'http';
  return [`${scheme}://${host}${basePath.startsWith('/') ? '' : '/'}${basePath}`.slice(0, MAX_LENGTH)];
}
