/** A day in ISO 8601, or an IP address with or without a port. These have as many digits as a phone number. */
const DAY = String.raw`\b20\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])\b`;
const ADDRESS = String.raw`\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b`;
/** Seven or more digits with at most three other characters between them, except letters. */
const PHONE_NUMBER = String.raw`\p{Nd}(?:[^\p{L}\p{Nd}\n]{0,3}\p{Nd}){6,}`;
const ANY = new RegExp(`(?<other>${DAY}|${ADDRESS})|${PHONE_NUMBER}`, 'gu');
/** Fewer digits than a phone number has. */
const SHOWN_DIGITS = 4;

/** Whether a text contains a number that phones turn into a link, which calls it. */
export function hasPhoneNumber(text: string): boolean {
  return withoutPhoneNumbers(text) !== text;
}

/** Text in which each number that phones turn into a link has only its first digits. */
export function withoutPhoneNumbers(text: string): string {
  return text.replaceAll(ANY, (found, other: string | undefined) => {
    let digits = 0;
    return other ?? found.replaceAll(/\p{Nd}/gu, (digit) => (++digits > SHOWN_DIGITS ? '·' : digit));
  });
}
