import { hiddenParts, isUrl } from './mask-url.ts';

const MIN_BASE64_LENGTH = 6;
const LONG_RUN = /[A-Za-z0-9]{16,}/g;
/** Like most tokens. Escaping doesn't change them, no matter how many times. */
const NEVER_ESCAPED = /^[\w.-]*$/;

/**
 * Every text that reveals one of the secrets: each secret and its parts, plain, URL-encoded, JSON- or HTML-escaped, and
 * in base64. There can be thousands, and some are repeated or empty. Each is made only when it is read.
 */
export function* spellingsOf(secrets: readonly string[]): Generator<string> {
  for (const secret of new Set(secrets)) {
    if (NEVER_ESCAPED.test(secret)) {
      yield* spell(secret);
      yield* longRuns(secret);
    } else {
      for (const part of new Set(partsOf(secret))) yield* spell(part);
    }
  }
}

/** The secrets, and their parts, that contain characters that text may have escaped. */
export function escapablePartsOf(secrets: readonly string[]): string[] {
  return secrets.flatMap((secret) =>
    (NEVER_ESCAPED.test(secret) ? [] : partsOf(secret)).filter((part) => !NEVER_ESCAPED.test(part)),
  );
}

/**
 * The secret, the parts that `maskUrl` hides if it is a URL, and long runs of letters and digits, which stay the same
 * no matter how many times the text is escaped.
 */
function partsOf(secret: string): string[] {
  if (!isUrl(secret) || !URL.canParse(secret)) return [secret, ...longRuns(secret)];
  // Servers quote a URL either as it was written or as it was sent.
  const { href } = new URL(secret);
  return [secret, href, ...hiddenParts(secret), ...hiddenParts(href), ...longRuns(secret)];
}

function longRuns(secret: string): string[] {
  return secret.match(LONG_RUN) ?? [];
}

function* spell(secret: string): Generator<string> {
  yield secret;
  yield* base64Of(secret);
  if (NEVER_ESCAPED.test(secret)) return;
  const wellFormed = secret.toWellFormed();
  yield* inEitherCase(encodeURIComponent(wellFormed));
  yield* inEitherCase(new URLSearchParams({ '': wellFormed }).toString().slice(1));
  const json = JSON.stringify(secret).slice(1, -1);
  const asciiJson = json.replace(/[^ -~]/g, (character) => `\\u${hex(character)}`);
  for (const text of [json, asciiJson]) yield* [text, text.replaceAll('/', '\\/')];
  yield escapeHtml(secret);
}

/** URL-encoded text as most programs write it, and with lowercase hexadecimal digits. */
function* inEitherCase(encoded: string): Generator<string> {
  yield encoded;
  yield encoded.replace(/%../g, (octet) => octet.toLowerCase());
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
 * alignments. From each one, only the characters that depend solely on the secret are used.
 */
function* base64Of(secret: string): Generator<string> {
  const padded = Buffer.from(`\0\0${secret}`, 'utf8');
  const length = padded.length - 2;
  yield* spellBase64(padded.toString('base64', 2));
  for (const offset of [0, 1, 2]) {
    const first = Math.ceil((offset * 8) / 6);
    const last = Math.floor(((offset + length) * 8) / 6);
    yield* spellBase64(padded.toString('base64', 2 - offset).slice(first, last));
  }
}

/** Unchanged, URL-safe, and URL-encoded. */
function* spellBase64(text: string): Generator<string> {
  if (text.length < MIN_BASE64_LENGTH) return;
  yield text;
  yield text.replaceAll('+', '-').replaceAll('/', '_');
  yield text.replaceAll('+', '%2B').replaceAll('/', '%2F').replaceAll('=', '%3D');
}
