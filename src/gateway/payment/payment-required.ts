import type { IncomingHttpHeaders } from 'node:http';
import Negotiator from 'negotiator';
import type { BuyerUsage } from '../../features/payments/steps/count.ts';
import { type Declarations, fittingDeclaration } from '../discovery/declaration.ts';
import type { PaidRoute } from '../routing/load-routes.ts';
import { buyerRulesExtension, buyerRulesText } from './buyer-rules.ts';
import { PAYMENT_IDENTIFIER } from './payment-identifier.ts';
import { priceText, type RequirementsV2, type Resource, requirementsV1, requirementsV2 } from './terms.ts';

export type PaymentRequired = { headers: Record<string, string>; body: string };

/**
 * Together with the response's other headers, this header must fit in the 4 KB that nginx reads by default. Clients
 * also send most of it back in a request header.
 * https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_buffer_size
 */
const MAX_HEADER_CHARACTERS = 3_000;
/** Anyone can request any number of these responses. */
const MAX_DECLARATION_BYTES = 16_384;

/**
 * JSON that every client can read and send back. Some clients treat every byte of the decoded base64 as one character,
 * and encode what they send back in the same way. Latin-1 characters are escaped, so these clients read them correctly.
 * Other characters stay in UTF-8: these clients misread them but send back the same bytes. If they were escaped, the
 * clients couldn't encode them.
 */
function headerJson(value: unknown): string {
  return JSON.stringify(value).replace(/[\u0080-\u00ff]/g, (one) => `\\u00${one.charCodeAt(0).toString(16)}`);
}

/** An x402 header's value: base64 of JSON (https://github.com/coinbase/x402/blob/main/specs/transports-v2/http.md). */
export function encodeHeader(value: unknown): string {
  return Buffer.from(headerJson(value)).toString('base64');
}

/**
 * The 402 response to an unpaid request. x402 version 2 reads the terms from a header, version 1 from the body, and
 * browsers get a page. `error` says why the payment was rejected, if the request had one.
 */
export function paymentRequired(options: {
  route: PaidRoute;
  resource: Resource;
  declarations: Declarations;
  error: string;
  /** What the buyer has used of the project's limit, if that is why the payment was rejected. */
  usage?: BuyerUsage | undefined;
  isForBrowser: boolean;
}): PaymentRequired {
  const { route, resource, declarations, error, usage, isForBrowser } = options;
  const rules = buyerRulesExtension(route.buyers, usage);
  const { networks, priceAtomic } = route;
  const v2: RequirementsV2[] = networks.map((network) => requirementsV2(network, route, priceAtomic));
  const extensions = { ...PAYMENT_IDENTIFIER, ...rules };
  const required = { x402Version: 2, error, resource, accepts: v2, extensions };
  return {
    headers: {
      'payment-required': headerWith(required, declarations),
      // The price can change at any time.
      'cache-control': 'no-store',
      vary: 'accept, user-agent, payment-signature, x-payment',
      ...(isForBrowser
        ? { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': PAGE_POLICY }
        : { 'content-type': 'application/json; charset=utf-8' }),
    },
    // Version 1 has no extensions, but a buyer who has reached a limit must be able to find out when it resets.
    body: isForBrowser
      ? page(route, resource)
      : bodyWith({ error, ...(usage && { extensions: rules }) }, route, resource, declarations),
  };
}

/** The terms in version 1 as JSON. The declaration is the last field of each. */
function bodyWith(
  told: { error: string; extensions?: object },
  route: PaidRoute,
  resource: Resource,
  declarations: Declarations,
): string {
  const { outputSchema } = fittingDeclaration(declarations, MAX_DECLARATION_BYTES);
  const accepts = route.networks
    .filter(({ v1Name }) => v1Name !== undefined)
    .map((network) => {
      const { outputSchema: _, ...terms } = requirementsV1(network, route, route.priceAtomic, resource);
      return `${JSON.stringify(terms).slice(0, -1)},"outputSchema":${outputSchema}}`;
    });
  return `${JSON.stringify({ x402Version: 1, ...told }).slice(0, -1)},"accepts":[${accepts.join()}]}`;
}

/** The `error` of a 402 response to a request without a payment. Clients of both versions read and keep it. */
export function paymentNeeded({ settlement, buyers }: PaidRoute): string {
  const sentences = [
    'Payment is required.',
    settlement === 'BEFORE_REQUEST' ? CHARGED_FIRST : '',
    buyers ? buyerRulesText(buyers) : '',
  ];
  return sentences.filter(Boolean).join(' ');
}

const CHARGED_FIRST =
  'You are charged before the API is called. If it returns an error or an incomplete response, you can retry once for free: send the same request with the same payment again.';

/** The header with the most complete declaration that still fits. If none does, a long query is left out of the URL. */
function headerWith(required: { resource: Resource; extensions: object }, declarations: Declarations): string {
  const header = mostComplete(required, declarations);
  const url = required.resource.url.split('?')[0]!;
  if (header.length <= MAX_HEADER_CHARACTERS || url === required.resource.url) return header;
  return mostComplete({ ...required, resource: { ...required.resource, url } }, declarations);
}

function mostComplete(required: { resource: Resource; extensions: object }, declarations: Declarations): string {
  let header = '';
  const smallest = declarations.at(-1);
  for (const declaration of declarations) {
    const { bazaar, bazaarBytes } = declaration;
    // Encoding a large declaration is slow, so those that can't fit aren't tried. Base64 has 4 characters for 3 bytes.
    if (declaration !== smallest && (bazaarBytes * 4) / 3 > MAX_HEADER_CHARACTERS) continue;
    header = encodeHeader({ ...required, extensions: { ...required.extensions, bazaar } });
    if (header.length <= MAX_HEADER_CHARACTERS) break;
  }
  return header;
}

/** Browsers send about 150. Reading the thousands of media types that fit in a header takes milliseconds. */
const MAX_ACCEPT_CHARACTERS = 1_000;

/**
 * Whether the client is a browser: it says so, as every browser does, and prefers HTML to everything else. Programs that
 * also accept HTML would fail to parse the page.
 */
export function wantsPage(headers: IncomingHttpHeaders): boolean {
  const { accept = '', 'user-agent': userAgent = '' } = headers;
  // Most requests come from programs, and end here.
  if (!/text\/html/i.test(accept) || !userAgent.includes('Mozilla/')) return false;
  if (accept.length > MAX_ACCEPT_CHARACTERS) return false;
  const accepted = new Negotiator({ headers: { accept } }).mediaTypes();
  return accepted[0]?.toLowerCase() === 'text/html' && !accepted.includes('application/json');
}

const PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'";

function page(route: PaidRoute, { url, description }: Resource): string {
  const price = escapeHtml(priceText(route));
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Payment required: ${price}</title>
<style>
  :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
  body { max-width: 38rem; margin: 12vh auto; padding: 0 1.25rem; }
  h1 { font-size: 1.4rem; }
  .price { font-size: 2.2rem; font-weight: 600; margin: .5rem 0; }
  dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; }
  dt { opacity: .7; }
  dd { margin: 0; overflow-wrap: anywhere; }
  code { font-size: .9em; }
</style>
<h1>This is a paid API</h1>
<p class="price">${price}</p>
<p>per request${description ? `: ${escapeHtml(description)}` : '.'}</p>
<dl>
  <dt>URL</dt><dd><code>${escapeHtml(url)}</code></dd>
  <dt>${route.networks.length === 1 ? 'Network' : 'Networks'}</dt><dd>${escapeHtml(networkTitles(route))}</dd>
  <dt>Recipient</dt><dd><code>${escapeHtml(route.payTo)}</code></dd>
</dl>
<p>Call it from a program that pays per request using the <a href="https://www.x402.org">x402</a> protocol, for example,
with <code>@x402/fetch</code>. The payment terms are in the <code>PAYMENT-REQUIRED</code> header of this response.</p>
</html>
`;
}

function networkTitles({ networks }: PaidRoute): string {
  return networks.map(({ title, isTestnet }) => `${title}${isTestnet ? ' (test network)' : ''}`).join(', ');
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}
