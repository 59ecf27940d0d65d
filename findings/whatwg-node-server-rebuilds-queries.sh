#!/usr/bin/env bash
# Behind Express, an adapter of @whatwg-node/server sees a different query than the one that was sent.
#
# Expected: the adapter makes a `Request` from Node's request, so `new URL(request.url).search` is what the client sent,
# as with plain Node. Parsing the query is left to the handler.
#
# Seen: if the framework has already parsed the query (`request.query` in Express and Fastify), the adapter writes the
# parsed parameters over the URL's. Repeated parameters become one with a comma, `%20` becomes `+`, and with Express's
# extended parser, nested parameters are there twice, once as `[object Object]`.
#
# What follows: signatures over the path and query can't be verified, and lists in queries are wrong. GraphQL Yoga is
# built on this package. Use `originalUrl`, or pass the adapter a request without `query`: in Fastify, `request.raw`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm pkg set name=finding
npm install --silent --no-audit --no-fund @whatwg-node/server@0.13.0 express@5.3.0
cat > run.mjs <<'JS'
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServerAdapter } from '@whatwg-node/server';
import express from 'express';

const adapter = createServerAdapter((request) => new Response(new URL(request.url).search));
const app = express();
app.set('query parser', 'extended');
app.use(adapter);
const seen = {};
for (const [name, server] of Object.entries({ node: createServer(adapter), express: createServer(app) })) {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  seen[name] = [];
  for (const query of ['?a=1&a=2', '?a[b]=1', '?q=St.%20Gallen']) {
    const response = await fetch(`http://127.0.0.1:${server.address().port}/${query}`);
    seen[name].push(await response.text());
  }
  server.close();
  server.closeAllConnections();
}
console.log('@whatwg-node/server 0.13.0, express 5.3.0, Node', process.versions.node);
console.log(JSON.stringify(seen, null, 2));
const expected = {
  node: ['?a=1&a=2', '?a[b]=1', '?q=St.%20Gallen'],
  express: ['?a=1%2C2', '?a%5Bb%5D=1&a=%5Bobject+Object%5D', '?q=St.+Gallen'],
};
const isSame = JSON.stringify(seen) === JSON.stringify(expected);
console.log(isSame ? 'As described.' : 'This has changed.');
process.exit(isSame ? 0 : 1);
JS
node run.mjs
