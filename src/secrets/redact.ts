import { MASK } from './mask.ts';
import { hiddenParts, isUrl } from './mask-url.ts';

const SHOWN_CHARACTERS = 4;
const MIN_LENGTH_TO_SHOW = 12;
const MIN_BASE64_LENGTH = 6;
const LONG_RUN = /[A-Za-z0-9]{16,}/g;

/**
 * How a secret is shown: the mask and the secret's last four characters, or only the mask if the secret is too short.
 */
export function redactSecret(value: string): string {
  const characters = [...value];
  return characters.length < MIN_LENGTH_TO_SHOW ? MASK : MASK + characters.slice(-SHOWN_CHARACTERS).join('');
}

/**
 * Masks every occurrence of the secrets in someone else's text, such as a vendor's response body, whether they are
 * plain, URL-encoded, JSON- or HTML-escaped, or in base64 (even within a longer value, as in Basic authentication).
 * Also masks the revealing parts of secrets that are URLs. Redact text before you truncate it, not after.
 */
export function scrub(text: string, secrets: readonly string[]): string {
  return createScrubber(secrets)(text);
}

/** Like `scrub`, but for repeated use: computes the spellings of the secrets only once. */
export function createScrubber(secrets: readonly string[]): (text: string) => string {
  const spellings = new Set(secrets.flatMap(partsOf).flatMap(spellingsOf));
  spellings.delete('');
  // Longest first, because one spelling may contain another.
  const ordered = [...spellings].sort((left, right) => right.length - left.length);
  return (text) => ordered.reduce((scrubbed, spelling) => scrubbed.replaceAll(spelling, MASK), text);
}

/**
 * The secret, the parts that `maskUrl` hides if it is a URL, and long runs of letters and digits, which stay the same
 * no matter how often the text is escaped.
 */
function partsOf(secret: string): string[] {
  const runs = secret.match(LONG_RUN) ?? [];
  if (!isUrl(secret) || !URL.canParse(secret)) return [secret, ...runs];
  // Servers quote a URL either as it was written or as it was sent.
  const { href } = new URL(secret);
  return [secret, href, ...hiddenParts(secret), ...hiddenParts(href), ...runs];
}

function spellingsOf(secret: string): string[] {
  const wellFormed = secret.toWellFormed();
  const percent = encodeURIComponent(wellFormed);
  const form = new URLSearchParams({ '': wellFormed }).toString().slice(1);
  const json = JSON.stringify(secret).slice(1, -1);
  const asciiJson = json.replace(/[^ -~]/g, (character) => `\\u${hex(character)}`);
  const texts = [percent, form, json, asciiJson, json.replaceAll('/', '\\/'), asciiJson.replaceAll('/', '\\/')];
  const inLowerCaseHex = [percent, form].map((text) => text.replace(/%../g, (octet) => octet.toLowerCase()));
  return [secret, ...texts, ...inLowerCaseHex, escapeHtml(secret), ...base64Of(secret)];
}

function hex(character: string): string {
  return character.charCodeAt(0).toString(16).padStart(4, '0');
}

function escapeHtml(text: string): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return escaped.replaceAll('"', '&quot;').replaceAll("'", '&#39;');
}

/**
 * The secret in base64, alone and inside a longer value. Three bytes become four characters, so there are three
 * alignments. From each one, only the characters that depend on nothing but the secret are used.
 */
function base64Of(secret: string): string[] {
  const bytes = Buffer.from(secret, 'utf8');
  const inside = [0, 1, 2].map((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
    const first = Math.ceil((offset * 8) / 6);
    const last = Math.floor(((offset + bytes.length) * 8) / 6);
    return encoded.slice(first, last);
  });
  const encodings = [bytes.toString('base64'), ...inside].filter((text) => text.length >= MIN_BASE64_LENGTH);
  const urlSafe = encodings.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'));
  return [...encodings, ...urlSafe, ...encodings.map(encodeURIComponent)];
}
