import type { UrlInput } from '../urls/project-url.ts';

/**
 * Escapes and parameters that some servers resolve to slashes or dots, also those in overlong UTF-8 or as UTF-16 units,
 * and control characters, which some servers drop. They can make a path leave the folder that it appears to be in.
 */
const AMBIGUOUS = /%(?:25|2e|2f|5c|[01][\da-f]|7f|c0|c1|e0%[89]|f0%8|u)|;/i;

/**
 * Normalizes the URL that determines which upstreams get a header: an origin and perhaps a path, without a slash at the
 * end.
 */
export function urlPrefixInput({ input }: UrlInput) {
  return input.transform((text, context) => {
    const { origin, pathname, search } = new URL(text);
    if (search === '' && !text.includes('•') && !AMBIGUOUS.test(pathname)) return origin + pathname.replace(/\/+$/, '');
    const message =
      'Must be a URL with only a scheme, a host, and optionally a path, for example, "https://api.example.com/v1".';
    context.addIssue({ code: 'custom', message });
    return text;
  });
}

/**
 * Whether an upstream URL is equal to the prefix or under it: the same scheme, host, and port, and a path with all of
 * the prefix's segments. Buyers' paths can't leave it, because the gateway accepts only canonical paths.
 */
export function isUnder(urlPrefix: string, upstreamUrl: string): boolean {
  const [prefix, url] = [new URL(urlPrefix), new URL(upstreamUrl)];
  if (prefix.origin !== url.origin) return false;
  const base = prefix.pathname.replace(/\/+$/, '');
  if (base === '') return true;
  return `${url.pathname}/`.startsWith(`${base}/`) && !AMBIGUOUS.test(url.pathname.slice(base.length));
}
