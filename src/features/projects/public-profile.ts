import { isIP } from 'node:net';
import { z } from 'zod';
import { optionalText } from '../../validation.ts';

const MAX_DESCRIPTION_CHARACTERS = 1_000;
const MAX_ICON_URL_CHARACTERS = 2_048;

/**
 * An HTTPS URL that catalogs accept. They ignore URLs with a user name and URLs whose host isn't a public name.
 * https://github.com/x402-foundation/x402/blob/main/specs/extensions/bazaar.md#service-metadata-on-resource
 */
const iconUrl = z
  .string()
  .max(MAX_ICON_URL_CHARACTERS)
  .refine(isPublicHttps, 'Must be an HTTPS URL with a public host name, for example, "https://example.com/icon.png".')
  .transform((text) => new URL(text).href);

/** The part of a project's input that buyers can read. Setting a value to null removes it. */
export const publicProfileInput = {
  description: optionalText(MAX_DESCRIPTION_CHARACTERS),
  iconUrl: iconUrl.nullish(),
};

function isPublicHttps(text: string): boolean {
  const url = URL.parse(text);
  if (url?.protocol !== 'https:' || url.username || url.password || /\p{Cc}/u.test(text)) return false;
  const host = url.hostname.replace(/\.$/, '');
  return (
    host.includes('.') && !host.startsWith('[') && isIP(host) === 0 && !/(^|\.)localhost(\.localdomain)?$/.test(host)
  );
}
