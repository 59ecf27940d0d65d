import type { Network } from '../chain/networks.ts';
import type { PaidRoute } from '../routing/route-table.ts';
import {
  priceText,
  type RequirementsV1,
  type RequirementsV2,
  type Resource,
  requirementsV1,
  requirementsV2,
} from './terms.ts';

export type PaymentRequired = { headers: Record<string, string>; body: string };

/** An x402 header's value: base64 of JSON (https://github.com/coinbase/x402/blob/main/specs/transports-v2/http.md). */
export function encodeHeader(value: unknown): string {
  return Buffer.from(JSON.stringify(value), 'utf8').toString('base64');
}

/**
 * The 402 response to an unpaid request. x402 version 2 reads the terms from a header, version 1 from the body, and
 * browsers get a page. `error` says why the payment was rejected, if the request had one.
 */
export function paymentRequired(options: {
  network: Network;
  route: PaidRoute;
  resource: Resource;
  error: string;
  isForBrowser: boolean;
}): PaymentRequired {
  const { network, route, resource, error, isForBrowser } = options;
  const v2: RequirementsV2 = requirementsV2(network, route, route.priceAtomic);
  const v1: RequirementsV1 = requirementsV1(network, route, route.priceAtomic, resource);
  const required = { x402Version: 2, error, resource, accepts: [v2] };
  return {
    headers: {
      'payment-required': encodeHeader(required),
      // The price can change at any time.
      'cache-control': 'no-store',
      vary: 'accept, payment-signature, x-payment',
      ...(isForBrowser
        ? { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': PAGE_POLICY }
        : { 'content-type': 'application/json; charset=utf-8' }),
    },
    body: isForBrowser ? page(network, route, resource) : JSON.stringify({ x402Version: 1, error, accepts: [v1] }),
  };
}

/** Whether the client is a browser: it explicitly accepts HTML, but not JSON. */
export function wantsPage(accept: string | undefined): boolean {
  return accept !== undefined && /\btext\/html\b/i.test(accept) && !/\bapplication\/json\b/i.test(accept);
}

const PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'";

function page(network: Network, route: PaidRoute, { url, description }: Resource): string {
  const price = escapeHtml(priceText(network, route));
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
  <dt>Network</dt><dd>${escapeHtml(network.title)}${network.isTestnet ? ' (test network)' : ''}</dd>
  <dt>Recipient</dt><dd><code>${escapeHtml(route.payTo)}</code></dd>
</dl>
<p>Call it from a program that pays per request using the <a href="https://www.x402.org">x402</a> protocol, for example,
with <code>@x402/fetch</code>. The payment terms are in the <code>PAYMENT-REQUIRED</code> header of this response.</p>
</html>
`;
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}
