import { ID_PREFIXES, type IdType, nameOfType } from '../ids.ts';
import type { Json } from './openapi-schemas.ts';
import type { RestRoute } from './routes/route.ts';

/** The types of the parameters that aren't named after their type. */
const TYPES: Readonly<Record<string, IdType>> = {
  keyId: 'ApiKey',
  memberId: 'ProjectMember',
  transferId: 'ProjectTransfer',
};

/**
 * The parameters in a route's path, as OpenAPI describes them. Each is an ID.
 *
 * @throws Error for a parameter that isn't the ID of a type.
 */
export function pathParameters({ path }: Pick<RestRoute, 'path'>): Json[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    description: descriptionOf(name!),
    schema: { type: 'string' },
  }));
}

function descriptionOf(parameter: string): string {
  const named = parameter.charAt(0).toUpperCase() + parameter.slice(1).replace(/Id$/, '');
  const type = TYPES[parameter] ?? (named as IdType);
  if (!(type in ID_PREFIXES)) throw new Error(`:${parameter} isn't the ID of a type`);
  return `The ID of ${nameOfType(type)}: \`${ID_PREFIXES[type]}_…\`.`;
}
