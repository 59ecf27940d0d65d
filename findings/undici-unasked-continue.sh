#!/usr/bin/env bash
# A response that undici doesn't accept, although it is valid HTTP: one that follows an unasked 100 Continue.
#
# Expected: a client ignores informational responses that it didn't ask for (RFC 9110 §15.2: "A client MUST be able to
# parse one or more 1xx responses received prior to a final response, even if the client does not expect one").
#
# Seen: undici ignores 102 and 103, but if a server sends 100, it closes the connection with the error "bad response", and
# the 200 that follows is lost. node:http ignores all three. fetch in Node is undici.
#
# What follows: some servers send 100 Continue whenever a request has a body. Requests to them work with curl and
# node:http, and fail with undici and fetch. The only place to remove the 100 is between the socket and undici, in a
# connector of your own.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund undici@8.12.4
cat > run.mjs <<'JS'
import { once } from 'node:events';
import { request as nodeRequest } from 'node:http';
import { createServer } from 'node:net';
import { Agent, request } from 'undici';

const FINAL = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const server = createServer((socket) => {
  socket.on('error', () => {});
  // The path is the informational status.
  socket.on('data', (data) => socket.write(`HTTP/1.1 ${String(data).slice(5, 8)} Any\r\n\r\n${FINAL}`));
});
await once(server.listen(0, '127.0.0.1'), 'listening');
const origin = `http://127.0.0.1:${server.address().port}`;
const agent = new Agent();

const CLIENTS = {
  async undici(url) {
    const { statusCode, body } = await request(url, { dispatcher: agent });
    return `${statusCode} ${await body.text()}`;
  },
  async 'node:http'(url) {
    const [response] = await once(nodeRequest(url, { agent: false }).end(), 'response');
    return `${response.statusCode} ${(await response.toArray()).join('')}`;
  },
};
const seen = {};
for (const [name, send] of Object.entries(CLIENTS)) {
  seen[name] = [];
  for (const status of [100, 102, 103]) {
    const result = await send(`${origin}/${status}`).catch(({ code, message }) => `${code}: ${message}`);
    seen[name].push(`${status}, then ${result}`);
  }
}
await agent.destroy();
server.close();

console.log('undici 8.12.4, Node', process.versions.node);
console.log(seen);
const expected = {
  undici: ['100, then UND_ERR_SOCKET: bad response', '102, then 200 ok', '103, then 200 ok'],
  'node:http': ['100, then 200 ok', '102, then 200 ok', '103, then 200 ok'],
};
const isSame = JSON.stringify(seen) === JSON.stringify(expected);
console.log(isSame ? 'As described.' : 'This has changed.');
process.exit(isSame ? 0 : 1);
JS
node run.mjs
