#!/usr/bin/env bash
# mppx 0.10.1 pays only if the URL in the terms is the one that it requested, byte for byte.
#
# Expected: `resource.url` in the terms of x402 describes what is for sale. It isn't signed, so a client can show it, but
# doesn't need it. A URL without the query, or in another spelling, is still the same resource.
#
# Seen: mppx 0.10.1 compares it to `response.url`, and throws if any character differs, such as a missing query or
# `-` instead of `%2d`. mppx 0.11.0 no longer compares them.
#
# What follows: servers should put the request's whole target into `resource.url`, exactly as it arrived, behind the host
# and scheme that clients use. A path from a router, or a URL that was parsed and normalized, isn't enough.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for version in 0.10.1 0.11.0; do
  mkdir "$folder/$version"
  cd "$folder/$version"
  npm init --yes >/dev/null
  npm pkg set name=finding
  npm install --silent --no-audit --no-fund --ignore-scripts --legacy-peer-deps "mppx@$version" viem@2.55.19
  cat > run.mjs <<'JS'
import { once } from 'node:events';
import { createServer } from 'node:http';
import { evm, Mppx } from 'mppx/client';
import { privateKeyToAccount } from 'viem/accounts';

const accepts = [{
  scheme: 'exact', network: 'eip155:84532', amount: '10000', asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  payTo: '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045', maxTimeoutSeconds: 120, extra: { name: 'USDC', version: '2' },
}];
/** How a server writes the URL of a request. */
let written = (target) => target;
const server = createServer((request, response) => {
  if (request.headers['payment-signature'] !== undefined) return response.end('served');
  const url = `http://${request.headers.host}${written(request.url)}`;
  const terms = { x402Version: 2, error: 'Pay.', resource: { url }, accepts };
  response.writeHead(402, { 'payment-required': Buffer.from(JSON.stringify(terms)).toString('base64') }).end();
});
await once(server.listen(0, '127.0.0.1'), 'listening');

const account = privateKeyToAccount(`0x${'1'.repeat(64)}`);
const client = Mppx.create({ polyfill: false, methods: [evm({ account })] });
const isBought = async (path) => {
  const url = `http://127.0.0.1:${server.address().port}${path}`;
  return client.fetch(url).then(({ status }) => status === 200, () => false);
};
const seen = { whole: await isBought('/a%2db?q=1') };
written = (target) => target.split('?')[0];
seen.withoutQuery = await isBought('/a?q=1');
written = (target) => target.replace('%2d', '-');
seen.normalized = await isBought('/a%2db');
server.close();
server.closeAllConnections();

const [version] = process.argv.slice(2);
console.log(`mppx ${version}, Node`, process.versions.node);
console.log('bought:', JSON.stringify(seen));
const isStrict = version === '0.10.1';
const expected = { whole: true, withoutQuery: !isStrict, normalized: !isStrict };
const isSame = JSON.stringify(seen) === JSON.stringify(expected);
console.log(isSame ? 'As described.' : 'This has changed.');
process.exit(isSame ? 0 : 1);
JS
  node run.mjs "$version"
done
