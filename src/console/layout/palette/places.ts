import { nameOf } from './found-items.ts';
import { readPasted } from './pasted.ts';

const MAX_PLACES = 12;

/** A page or an item that was opened before. */
export type Place = { href: string; type: string; label: string; projectId: string };

/** Adds a place to the front of the list. An item that is known by its name keeps it. */
export function withPlace(places: readonly Place[], place: Place): Place[] {
  const known = places.find(({ href }) => href === place.href);
  const isNamed = place.label !== idIn(place.href);
  return [isNamed || !known ? place : known, ...places.filter((other) => other !== known)].slice(0, MAX_PLACES);
}

/** The page or the item at an address. Undefined for addresses outside of projects. */
export function placeAt(location: string, pages: readonly { path: string; label: string }[]): Place | undefined {
  const [, projectId, page = ''] = /^\/projects\/([^/]+)(\/[^/]+)?/.exec(location) ?? [];
  const found = pages.find(({ path }) => pathOf(path) === page);
  if (projectId === undefined || !found) return undefined;
  const pasted = readPasted(idIn(location) ?? '');
  if (pasted.kind === 'id') return { href: location, type: nameOf(pasted.type), label: pasted.query, projectId };
  return { href: `/projects/${projectId}${page}`, type: 'Page', label: found.label, projectId };
}

/** A page's address without the parameter: `/payments` for `/payments/:paymentId?`. */
export function pathOf(pattern: string): string {
  return pattern.replace(/\/:.*$/, '');
}

function idIn(location: string): string | undefined {
  return /^\/projects\/[^/]+\/[^/]+\/([^/?]+)/.exec(location)?.[1];
}
