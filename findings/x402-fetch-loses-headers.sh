#!/usr/bin/env bash
# The paid request of x402-fetch doesn't have the caller's headers.
#
# Expected: a wrapper around `fetch` sends the request again with the payment and everything else unchanged, no matter
# whether the headers are a plain object, a `Headers` object, or part of a `Request`.
#
# Seen: x402-fetch spreads `init.headers` into a new object. If they are a `Headers` object, all of them are lost. If
# they are part of a `Request`, they are replaced. The first request, which isn't paid for, still has them.
#
# What follows: servers bill for a request with another `Content-Type` (`text/plain` instead of JSON), without
# `Authorization`, and without `Idempotency-Key`, so a retry isn't recognized. With this client, pass headers as a plain
# object.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm pkg set name=finding
npm install --silent --no-audit --no-fund --ignore-scripts --legacy-peer-deps x402-fetch@1.2.0 viem@2.55.19
cat > run.mjs <<'JS'
import { once } from 'node:events';
import { createServer } from 'node:http';
import { privateKeyToAccount } from 'viem/accounts';
import { wrapFetchWithPayment } from 'x402-fetch';

const terms = {
  scheme: 'exact', network: 'base-sepolia', maxAmountRequired: '10000', resource: 'http://127.0.0.1/', description: 'A test',
  mimeType: '', payTo: '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045', maxTimeoutSeconds: 120,
  asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e', extra: { name: 'USDC', version: '2' },
};
let paid;
const server = createServer((request, response) => {
  request.resume();
  if (request.headers['x-payment'] === undefined) {
    response.writeHead(402, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ x402Version: 1, error: 'Pay.', accepts: [terms] }));
    return;
  }
  paid = [request.headers['content-type'] ?? null, request.headers['idempotency-key'] ?? null];
  response.end('served');
});
await once(server.listen(0, '127.0.0.1'), 'listening');

const pay = wrapFetchWithPayment(fetch, privateKeyToAccount(`0x${'1'.repeat(64)}`));
const url = `http://127.0.0.1:${server.address().port}/`;
const headers = { 'content-type': 'application/json', 'idempotency-key': 'key-1' };
const init = { method: 'POST', body: '{}' };
const seen = {};
const run = async (title, ...request) => {
  await pay(...request);
  seen[title] = paid;
};
await run('object', url, { ...init, headers });
await run('Headers', url, { ...init, headers: new Headers(headers) });
await run('Request', new Request(url, { headers }));
server.close();
server.closeAllConnections();

console.log('x402-fetch 1.2.0, Node', process.versions.node);
console.log('Content-Type and Idempotency-Key of the paid request, by how they were passed:', JSON.stringify(seen));
const expected = {
  object: ['application/json', 'key-1'],
  Headers: ['text/plain;charset=UTF-8', null],
  Request: [null, null],
};
const isSame = JSON.stringify(seen) === JSON.stringify(expected);
console.log(isSame ? 'As described.' : 'This has changed.');
process.exit(isSame ? 0 : 1);
JS
node run.mjs
