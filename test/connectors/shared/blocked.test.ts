import { describe, expect, test } from 'vitest';
import { cloudflareRefusal } from '../../../src/connectors/shared/blocked.ts';
import { listConnectors } from '../../../src/connectors/types/registry.ts';
import { vendorResponse } from '../support/samples.ts';

const PAGE_1015 = `<!DOCTYPE html><html><head><title>Access denied | api.vendor.example used Cloudflare to restrict access</title></head>
<body><h1><span class="inline-block" data-translate="error">Error</span>
<span class="code-label">1015</span></h1><h2>You are being rate limited</h2></body></html>`;
const JSON_1015 = {
  title: 'Error 1015: You are being rate limited',
  status: 429,
  error_code: 1015,
  retryable: true,
  cloudflare_error: true,
};

describe('a Cloudflare error about the sender', () => {
  test.each([
    [429, 'error code: 1015'],
    [429, PAGE_1015],
    [429, JSON_1015],
    [403, 'error code: 1010'],
    [403, '<span>Error code</span>: <span>1006</span>'],
  ])('%i %j is a block', (statusCode, body) => {
    expect(cloudflareRefusal({ title: 'Vendor' }, vendorResponse(statusCode, body))).toEqual({
      kind: 'blocked',
      reason: `Vendor is blocking requests from this service's IP address (HTTP ${statusCode}). The event will be sent once the block has ended.`,
      afterSeconds: 300,
    });
  });

  // Otherwise, a seller whose content matches a rule could hold back everyone's connectors.
  test.each([
    [403, 'error code: 1020\n'],
    [403, '<h1>Error 1012</h1>'],
  ])('%i %j is about a firewall rule, so only this delivery waits', (statusCode, body) => {
    expect(cloudflareRefusal({ title: 'Vendor' }, vendorResponse(statusCode, body))).toEqual({
      kind: 'retry',
      reason: `Vendor's firewall refused this request (HTTP ${statusCode}).`,
      afterSeconds: 300,
    });
  });

  test.each([
    [429, ''],
    [429, 'error code: 1015x'],
    [429, { message: 'error code: 1015' }],
    [403, '<html>Forbidden</html>'],
    [403, 'error code: 1001'],
    [403, 'Terror 1015'],
    [401, 'error code: 1015'],
    [503, 'error code: 1015'],
    [200, 'error code: 1015'],
  ])('%i %j is not', (statusCode, body) => {
    expect(cloudflareRefusal({ title: 'Vendor' }, vendorResponse(statusCode, body))).toBeUndefined();
  });

  test('is recognized in a page of unclosed tags without delay', () => {
    expect(cloudflareRefusal({ title: 'Vendor' }, vendorResponse(403, '<'.repeat(1_000_000)))).toBeUndefined();
  });
});

test("sellers who control a type's responses can't block other sellers' connectors", () => {
  const response = vendorResponse(429, 'error code: 1015');
  const controlled = listConnectors().filter((definition) => !cloudflareRefusal(definition, response));
  expect(controlled.map(({ type }) => type)).toEqual(['teams', 'n8n', 'make', 'supabase']);
});
