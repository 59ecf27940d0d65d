import { isIP } from 'node:net';
import { isPublicAddress } from './address.ts';
import type { EgressAllow } from './allow-list.ts';
import { ERROR_MESSAGES } from './egress-error.ts';

/** `isClosed` means that an allow-list could permit the target. */
export type TargetCheck = { ok: true; url: URL } | { ok: false; message: string; isClosed?: true };

export const MAX_URL_BYTES = 2_048;

// Control, format, space, and unassigned characters, and the backslash. URL parsers drop or convert them, so the URL
// that a person reads would differ from the one that is requested.
const DECEPTIVE_CHARACTERS = /[\p{C}\p{Z}\\]/u;
/** The start of an absolute URL. Without a flag, because the OpenAPI document contains it. */
export const ABSOLUTE_HTTP_URL = /^[Hh][Tt][Tt][Pp][Ss]?:\/\/[^/?#]/;

// Names for this machine or the local network: RFC 6761 §6.3 (localhost), RFC 6762 §3 (local), RFC 8375 (home.arpa),
// ICANN's reservation of .internal, and what home and office routers commonly use.
const LOCAL_SUFFIXES = ['localhost', 'localdomain', 'local', 'internal', 'intranet', 'lan', 'home.arpa'];

/**
 * Checks the URL of a webhook, connector, or endpoint without DNS. It must be an https URL with a public name or
 * address, or be covered by the allow-list. Names aren't resolved here: the addresses are checked on every connection.
 *
 * @returns the parsed URL, or a message for the person who entered it.
 */
export function checkTargetUrl(text: string, allow: EgressAllow): TargetCheck {
  if (Buffer.byteLength(text) > MAX_URL_BYTES) return refused(`The URL is longer than ${MAX_URL_BYTES} bytes.`);
  if (DECEPTIVE_CHARACTERS.test(text)) {
    return refused("The URL can't contain spaces, backslashes, or invisible characters. Percent-encode them.");
  }
  const url = ABSOLUTE_HTTP_URL.test(text) ? URL.parse(text) : null;
  if (!url) return refused('Enter an absolute URL, such as https://example.com/path.');
  if (authorityOf(text).includes('@')) return refused("The URL can't contain a user name or password.");
  if (text.includes('#')) return refused('Remove the fragment (#…). Fragments are never sent to servers.');
  if (url.hostname.endsWith('.')) return refused('Remove the dot at the end of the host name.');

  const hostname = hostnameOf(url);
  const port = portOf(url);
  const isLiteral = isIP(hostname) !== 0;
  const isLocal = isLocalHostname(hostname);
  if (
    isLiteral ? allow.permits(hostname, port) : (isLocal || url.protocol === 'http:') && allow.coversPort(port, isLocal)
  ) {
    return { ok: true, url };
  }
  if (isLiteral ? !isPublicAddress(hostname) : isLocal) return closed(ERROR_MESSAGES.target_not_allowed);
  if (url.protocol !== 'https:') return closed('The URL must start with https://.');
  const isOpenPort = isPublicPort(port) || (!isLiteral && allow.namesPort(port));
  if (!isOpenPort) return closed('The port must be 443, or at least 1024.');
  return { ok: true, url };
}

/** Whether a name belongs to this machine or the local network rather than the public DNS. */
export function isLocalHostname(hostname: string): boolean {
  const name = hostname.toLowerCase().replace(/\.$/, '');
  return !name.includes('.') || LOCAL_SUFFIXES.some((suffix) => name.endsWith(`.${suffix}`));
}

/** Public targets can use the https port and unprivileged ports, but not the ports of SSH, mail, and similar services. */
export function isPublicPort(port: number): boolean {
  return port === 443 || port >= 1024;
}

/** A URL's host, without the brackets around an IPv6 address. */
export function hostnameOf(url: URL): string {
  return url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname;
}

/** The port of an http or https URL, or the scheme's default. */
export function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port);
  return url.protocol === 'https:' ? 443 : 80;
}

/** The part between `//` and the path, as written. URL drops the empty user name in `https://@host`, for example. */
function authorityOf(text: string): string {
  return text.slice(text.indexOf('//') + 2).split(/[/?#]/, 1)[0]!;
}

function refused(message: string): TargetCheck {
  return { ok: false, message };
}

function closed(message: string): TargetCheck {
  return { ok: false, message, isClosed: true };
}
