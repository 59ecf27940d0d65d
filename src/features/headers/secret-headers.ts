import { isShown, refuseMasked } from '../../secrets/masked-secrets.ts';
import { redactSecret } from '../../secrets/redact.ts';
import { nameKey, type SecretHeader } from './header-rules.ts';

/** Headers as the API returns them: each value as `••••` and at most its last four characters. */
export function shownHeaders<H extends SecretHeader>(headers: readonly H[]): H[] {
  return headers.map((header) => ({ ...header, value: redactSecret(header.value) }));
}

/**
 * The headers to store when a caller changes a list. Masked values that are sent back keep the stored value of the same
 * header, and everything else in the list is replaced.
 *
 * @param given undefined if the list stays unchanged; null if it is removed.
 * @param options `pointer`: the list's JSON pointer in the request body. `keyOf` identifies a header, so that a changed
 * header can be matched with the stored one.
 * @returns the headers with their values in full, and the pointers of the stored values that stay unchanged.
 * @throws AppError `VALIDATION_FAILED` if a masked value doesn't match the stored one.
 */
export function changeHeaders<H extends SecretHeader>(
  stored: readonly H[],
  given: readonly H[] | null | undefined,
  { pointer, keyOf = nameKey }: { pointer: string; keyOf?: (header: H) => string },
): { headers: readonly H[]; kept: string[] } {
  const pointerOf = (index: number) => `${pointer}/${index}/value`;
  if (given === undefined) return { headers: stored, kept: stored.map((_header, index) => pointerOf(index)) };
  const kept: string[] = [];
  const headers = (given ?? []).map((header, index) => {
    const before = stored.find((candidate) => keyOf(candidate) === keyOf(header));
    if (before && isShown(redactSecret(before.value), header.value)) {
      kept.push(pointerOf(index));
      return { ...header, value: before.value };
    }
    refuseMasked(pointerOf(index), header.value);
    return header;
  });
  return { headers, kept };
}
