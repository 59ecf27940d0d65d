import type { UseFormReturnType } from '@mantine/form';
import { useEffect, useEffectEvent } from 'react';

/**
 * What was entered in the forms on the page, kept in the tab while the user signs in again at an identity provider, which
 * leaves the page. Forms must leave out secrets.
 */
type Drafts = { path: string; keptAt: number; values: Readonly<Record<string, unknown>> };

const KEY = 'tollgate.drafts';
/** Someone who returns later probably doesn't expect to find an old draft. */
const MAX_AGE_MILLISECONDS = 15 * 60_000;

/** Reads the forms that are on the page, by their names. */
const onPage = new Map<string, () => unknown>();

/** Keeps what is entered in the page's forms. Call this before leaving the page. */
export function keepDrafts(): void {
  discardDrafts();
  const values = Object.fromEntries([...onPage].map(([name, read]) => [name, read()]));
  const drafts: Drafts = { path: window.location.pathname, keptAt: Date.now(), values };
  try {
    sessionStorage.setItem(KEY, JSON.stringify(drafts));
  } catch {
    // Browsers limit how much a tab can keep, and the document of an import can be larger.
  }
}

/** Whether a URL has parts that may be secret, and that a draft must leave out: a query, or a user name and password. */
export function mayBeSecret(url: string): boolean {
  return /[?@]/.test(url);
}

export function discardDrafts(): void {
  sessionStorage.removeItem(KEY);
}

/** What was kept for this page's form with this name. Undefined if nothing was. */
export function draftOf<Values>(name: string): Values | undefined {
  const drafts = JSON.parse(sessionStorage.getItem(KEY) ?? 'null') as Drafts | null;
  const isCurrent = drafts?.path === window.location.pathname && Date.now() - drafts.keptAt < MAX_AGE_MILLISECONDS;
  return isCurrent ? (drafts.values[name] as Values | undefined) : undefined;
}

function discardDraft(name: string): void {
  const drafts = JSON.parse(sessionStorage.getItem(KEY) ?? 'null') as Drafts | null;
  if (!drafts) return;
  const { [name]: _, ...values } = drafts.values;
  sessionStorage.setItem(KEY, JSON.stringify({ ...drafts, values }));
}

/**
 * Keeps state while the user signs in again, and restores it when the page returns.
 *
 * @param name identifies it on the page.
 * @param restore is called with what was kept.
 */
export function useDraft<Values>(name: string, read: () => Values, restore: (values: Values) => void): void {
  const latest = useEffectEvent(read);
  const bringBack = useEffectEvent(restore);
  useEffect(() => {
    const draft = draftOf<Values>(name);
    if (draft !== undefined) {
      bringBack(draft);
      discardDraft(name);
    }
    onPage.set(name, () => latest());
    return () => void onPage.delete(name);
  }, [name]);
}

/**
 * Keeps a form's values while the user signs in again.
 *
 * @param kept returns the values to keep, without secrets.
 */
export function useFormDraft<Values>(
  name: string,
  form: Pick<UseFormReturnType<Values>, 'getValues' | 'setValues'>,
  kept: (values: Values) => Partial<Values> = (values) => values,
): void {
  useDraft<Partial<Values>>(
    name,
    () => kept(form.getValues()),
    (values) => form.setValues(values),
  );
}
