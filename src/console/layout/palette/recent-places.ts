import { readLocalStorageValue } from '@mantine/hooks';
import { useEffect } from 'react';
import { useLocation } from 'wouter';
import { PAGE_ROUTES } from '../../pages/routes.tsx';
import { type Place, placeAt, withPlace } from './places.ts';

const keyOf = (subject: string) => `tollgate.recent-places.${subject}`;

/** The places that a user opened last in this browser, newest first. */
export function recentPlaces(subject: string): readonly Place[] {
  return readLocalStorageValue<readonly Place[]>({ key: keyOf(subject), defaultValue: [] });
}

/** Writes to the storage directly, because the next place may be in another project, whose frame replaces this one. */
export function rememberPlace(subject: string, place: Place): void {
  try {
    localStorage.setItem(keyOf(subject), JSON.stringify(withPlace(recentPlaces(subject), place)));
  } catch {
    // The browser may not allow it, or its storage may be full.
  }
}

/** Remembers each place that is opened while the component is shown. */
export function useRememberedPlaces(subject: string): void {
  const [location] = useLocation();
  useEffect(() => {
    const place = placeAt(location, PAGE_ROUTES);
    if (place) rememberPlace(subject, place);
  }, [location, subject]);
}
