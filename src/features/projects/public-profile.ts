import { isIP } from 'node:net';
import { z } from 'zod';
import { optionalText } from '../../validation.ts';

const MAX_DESCRIPTION_CHARACTERS = 1_000;
const MAX_ICON_URL_CHARACTERS = 2_048;
const MAX_CONTACT_CHARACTERS = 320;

/**
 * An HTTPS URL that catalogs accept. They ignore URLs with a user name and URLs whose host isn't a public name.
 * https://github.com/x402-foundation/x402/blob/main/specs/extensions/bazaar.md#service-metadata-on-resource
 */
const iconUrl = z
  .string()
  // Longer text isn't parsed: that takes time that grows with the square of the length of a host name in Unicode.
  .max(MAX_ICON_URL_CHARACTERS, { abort: true })
  .refine(isPublicHttps, 'Must be an HTTPS URL with a public host name, for example, "https://example.com/icon.png".')
  .transform((text) => new URL(text).href);

/** How buyers can reach the seller. The OpenAPI documents show it, and checkers miss it there. */
const contact = z
  .string()
  .trim()
  .max(MAX_CONTACT_CHARACTERS, { abort: true })
  .refine(
    (text) => isEmailAddress(text) || isPublicHttps(text),
    'Must be an email address or an HTTPS URL, for example, "support@example.com" or "https://example.com/support".',
  );

/** The part of a project's input that buyers can read. Setting a value to null removes it. */
export const publicProfileInput = {
  description: optionalText(MAX_DESCRIPTION_CHARACTERS),
  iconUrl: iconUrl.nullish(),
  contact: contact.nullish(),
};

/** Whether a contact is an email address. Otherwise, it is a URL. */
export function isEmailAddress(text: string): boolean {
  return z.email().safeParse(text).success;
}

function isPublicHttps(text: string): boolean {
  const url = URL.parse(text);
  if (url?.protocol !== 'https:' || url.username || url.password || /\p{Cc}/u.test(text)) return false;
  const host = url.hostname.replace(/\.$/, '');
  return (
    host.includes('.') && !host.startsWith('[') && isIP(host) === 0 && !/(^|\.)localhost(\.localdomain)?$/.test(host)
  );
}
