import { quoted, shellWord } from '../../parts/literals.ts';

// An endpoint's path can contain quotes, and another member or an imported document may have chosen it.

/** How to call an endpoint without paying. */
export function curlSample(address: string, methods: readonly string[]): string {
  return `curl ${curlOptions(methods)} ${shellWord(address)}`;
}

/** How to pay for an endpoint with an x402 client. */
export const clientSample = (
  address: string,
  methods: readonly string[],
) => `import { x402Client } from '@x402/core/client';
import { registerExactEvmScheme } from '@x402/evm/exact/client';
import { wrapFetchWithPayment } from '@x402/fetch';
import { privateKeyToAccount } from 'viem/accounts';

const signer = privateKeyToAccount(process.env.PRIVATE_KEY);
const pay = wrapFetchWithPayment(fetch, registerExactEvmScheme(new x402Client(), { signer }));
console.log(await (await pay(${quoted(address)}${fetchOptions(methods)})).text());`;

/** How to pay for tool calls with the MCP client and an x402 client. */
export const mcpClientSample = (address: string) =>
  [
    "import { Client } from '@modelcontextprotocol/sdk/client/index.js';",
    "import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';",
    "import { x402Client } from '@x402/core/client';",
    "import { registerExactEvmScheme } from '@x402/evm/exact/client';",
    "import { wrapFetchWithPayment } from '@x402/fetch';",
    "import { privateKeyToAccount } from 'viem/accounts';",
    '',
    'const signer = privateKeyToAccount(process.env.PRIVATE_KEY);',
    'const pay = wrapFetchWithPayment(fetch, registerExactEvmScheme(new x402Client(), { signer }));',
    "const client = new Client({ name: 'agent', version: '1.0.0' });",
    `await client.connect(new StreamableHTTPClientTransport(new URL(${quoted(address)}), { fetch: pay }));`,
    'console.log(await client.listTools());',
  ].join('\n');

/** The curl options for a request that the endpoint serves. */
function curlOptions(methods: readonly string[]): string {
  const [method = 'GET'] = methods;
  if (methods.includes('GET')) return '-i';
  return method === 'HEAD' ? '-I' : `-i -X ${method}`;
}

/** The second argument of `fetch`, for a request that the endpoint serves. */
function fetchOptions(methods: readonly string[]): string {
  return methods.includes('GET') ? '' : `, { method: '${methods[0]}' }`;
}
