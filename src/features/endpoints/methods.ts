/** The HTTP methods that the gateway forwards. It handles `OPTIONS` itself (CORS). */
export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
/** The methods of new endpoints. The others are left out because few paid APIs support them and they can change data. */
export const DEFAULT_METHODS: readonly string[] = ['GET', 'HEAD', 'POST'];

const KNOWN: readonly string[] = METHODS;

/**
 * The methods that a stored endpoint serves. An empty list means every method. Endpoints that were created before
 * methods could be chosen have an empty list.
 */
export function methodsOf({ methods }: { methods: readonly string[] | null }): readonly string[] {
  return methods === null || methods.length === 0 ? KNOWN : methods;
}
