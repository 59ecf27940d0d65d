/** Crockford's base32, as in the API's IDs. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME_SHIFT_BITS = 80n;
const MARGIN_MILLISECONDS = 60_000;

/** The creation time in a well-formed ID, in milliseconds. IDs are UUIDv7, so they start with it. */
export function millisecondsOfId(id: string): number {
  let value = 0n;
  for (const character of id.slice(id.indexOf('_') + 1)) value = value * 32n + BigInt(ALPHABET.indexOf(character));
  return Number(value >> TIME_SHIFT_BITS);
}

/** List filters that show an item whose page is only a list: everything created within a minute of it. */
export function filtersAround(id: string): string {
  const createdAt = millisecondsOfId(id);
  const at = (milliseconds: number) => new Date(milliseconds).toISOString();
  return new URLSearchParams({
    from: at(createdAt - MARGIN_MILLISECONDS),
    to: at(createdAt + MARGIN_MILLISECONDS),
  }).toString();
}
