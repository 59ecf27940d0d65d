#!/usr/bin/env bash
# Escaping a description makes it readable for two payment clients, and keeps them from paying.
#
# Expected: the terms of x402 are base64 of JSON. In JSON, `–` and `\u2013` are the same, so a server can write either.
# If anything, the escape is safer, because then the header's JSON is plain ASCII.
#
# Seen: two clients decode the terms with `atob`, and encode what they send back, which includes the description, with
# `btoa`. Both functions have one character per byte. From the bytes of UTF-8, they make unreadable text, but send the
# same bytes back, and the payment is fine. From the escape, they make the right character, which `btoa` then rejects
# with an `InvalidCharacterError`. Up to U+00FF, they send back Latin-1, which isn't UTF-8.
#
# What follows: servers should write characters above U+00FF as UTF-8, not as escapes, and accept payments that
# aren't valid UTF-8. Newer versions of @x402/fetch use UTF-8 in both directions.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm pkg set name=finding
npm install --silent --no-audit --no-fund --ignore-scripts --legacy-peer-deps \
  @x402/fetch@2.0.0 @x402/core@2.0.0 @x402/evm@2.0.0 @faremeter/fetch@0.22.0 @faremeter/payment-evm@0.22.0 viem@2.55.19
cat > run.mjs <<'JS'
import { once } from 'node:events';
import { createServer } from 'node:http';
import { wrap } from '@faremeter/fetch';
import { createPaymentHandler } from '@faremeter/payment-evm/exact';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { wrapFetchWithPayment, x402Client } from '@x402/fetch';
import { privateKeyToAccount } from 'viem/accounts';

const accepts = [{
  scheme: 'exact', network: 'eip155:84532', amount: '10000', asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  payTo: '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045', maxTimeoutSeconds: 120, extra: { name: 'USDC', version: '2' },
}];
const escape = (json) => json.replace(/[^\x00-\x7f]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
let description;
let isEscaped;
let returned;
const server = createServer((request, response) => {
  const payment = request.headers['payment-signature'];
  if (payment !== undefined) {
    const bytes = Buffer.from(payment, 'base64');
    returned = bytes.includes(Buffer.from(description)) ? 'as UTF-8' : bytes.includes(Buffer.from(description, 'latin1')) ? 'as Latin-1' : 'otherwise';
    return response.end('served');
  }
  const resource = { url: `http://${request.headers.host}${request.url}`, description, mimeType: '' };
  const json = JSON.stringify({ x402Version: 2, error: 'Pay.', resource, accepts });
  response.writeHead(402, { 'payment-required': Buffer.from(isEscaped ? escape(json) : json).toString('base64') }).end();
});
await once(server.listen(0, '127.0.0.1'), 'listening');
const url = `http://127.0.0.1:${server.address().port}/`;

const account = privateKeyToAccount(`0x${'1'.repeat(64)}`);
const wallet = { chain: { id: 84532, name: 'Base Sepolia' }, address: account.address, account };
const clients = {
  '@x402/fetch 2.0.0': wrapFetchWithPayment(fetch, new x402Client().register('eip155:*', new ExactEvmScheme(account))),
  '@faremeter/fetch 0.22.0': wrap(fetch, { handlers: [createPaymentHandler(wallet)] }),
};
console.log('Node', process.versions.node);
const seen = {};
for (const [name, pay] of Object.entries(clients)) {
  seen[name] = {};
  for (const text of ['Zürich', 'Bern – Basel']) {
    for (isEscaped of [false, true]) {
      description = text;
      const outcome = await pay(url, {}).then(() => `pays, and returns it ${returned}`, (error) => error.name);
      seen[name][`${text}, ${isEscaped ? 'escaped' : 'in UTF-8'}`] = outcome;
    }
  }
}
server.close();
server.closeAllConnections();
console.log(JSON.stringify(seen, null, 2));
const expected = {
  'Zürich, in UTF-8': 'pays, and returns it as UTF-8',
  'Zürich, escaped': 'pays, and returns it as Latin-1',
  'Bern – Basel, in UTF-8': 'pays, and returns it as UTF-8',
  'Bern – Basel, escaped': 'InvalidCharacterError',
};
const isSame = Object.values(seen).every((outcomes) => JSON.stringify(outcomes) === JSON.stringify(expected));
console.log(isSame ? 'As described.' : 'This has changed.');
process.exit(isSame ? 0 : 1);
JS
node run.mjs
