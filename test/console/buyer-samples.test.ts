import { describe, expect, test } from 'vitest';
import { clientSample, curlSample, mcpClientSample } from '../../src/console/pages/endpoints/buyer-samples.ts';

describe('what the buyer preview shows for a path that could end a string', () => {
  // Paths can contain these characters (RFC 3986 §3.3), and another member or an imported document may have chosen them.
  const ADDRESS = "https://shop.example/gateway/proj_1/weather';touch$IFS'x';'";

  test('is one word in the shell', () => {
    expect(curlSample(ADDRESS, ['POST'])).toBe(
      String.raw`curl -i -X POST 'https://shop.example/gateway/proj_1/weather'\'';touch$IFS'\''x'\'';'\'''`,
    );
  });

  test.each([
    ['an x402 client', clientSample(ADDRESS, ['GET']), `pay('${ADDRESS.replaceAll("'", String.raw`\'`)}')`],
    ['the MCP client', mcpClientSample(ADDRESS), `URL('${ADDRESS.replaceAll("'", String.raw`\'`)}')`],
  ])('is one string for %s', (_name, code, call) => {
    expect(code).toContain(call);
  });
});
