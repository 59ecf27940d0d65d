#!/usr/bin/env bash
# A complete response that has arrived, and that undici and node:http throw away.
#
# Expected: a server that rejects an upload responds before it has read all of it, for example with 413, and closes the
# connection. The client gets that response.
#
# Seen: if the client happens to write before it reads, the write fails with EPIPE or ECONNRESET, and Node destroys the
# socket together with the response in its receive buffer. undici (also fetch) and node:http report the write's error. A
# program that keeps reading after a failed write, as curl does, gets the response.
#
# What follows: with these clients, "connection reset" during an upload often means 413, 401, or 422. Which one of the two
# you see depends on timing, so it differs between machines. To see the response, keep a failed write from destroying the
# socket until reading has ended, or wait for 100 Continue before sending the body.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund undici@8.12.4
cat > run.mjs <<'JS'
import { once } from 'node:events';
import { request as nodeRequest } from 'node:http';
import { connect, createServer } from 'node:net';
import { PassThrough } from 'node:stream';
import { Agent, request } from 'undici';

const PART = Buffer.alloc(64 * 1024);
let upload;
const server = createServer((socket) => {
  socket.on('error', () => {});
  socket.pause();
  socket.once('readable', () => {
    socket.write('HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 6\r\n\r\nreason');
    socket.destroy();
    // The client writes before it can have read.
    for (let count = 0; count < 8; count++) upload.write(PART);
  });
});
await once(server.listen(0, '127.0.0.1'), 'listening');
const { port } = server.address();
const url = `http://127.0.0.1:${port}/`;
const agent = new Agent();

const CLIENTS = {
  async undici() {
    const { statusCode, body } = await request(url, { method: 'POST', body: upload, dispatcher: agent });
    return `${statusCode} ${await body.text()}`;
  },
  async 'node:http'() {
    const sent = nodeRequest(url, { method: 'POST', agent: false });
    upload.pipe(sent);
    const [response] = await once(sent, 'response');
    return `${response.statusCode} ${(await response.toArray()).join('')}`;
  },
  // What has arrived, for comparison: a socket whose failed writes are ignored until reading has ended.
  async 'a socket that keeps reading'() {
    const socket = connect(port, '127.0.0.1');
    const writeMany = socket._writev.bind(socket);
    const write = socket._write.bind(socket);
    const unlessFailed = (done) => (error) => error || done();
    socket._write = (chunk, encoding, done) => write(chunk, encoding, unlessFailed(done));
    socket._writev = (chunks, done) => writeMany(chunks, unlessFailed(done));
    await once(socket, 'connect');
    socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8388608\r\n\r\n');
    upload.pipe(socket);
    const [head, body] = (await socket.take(1).toArray()).join('').split('\r\n\r\n');
    return `${head.split(' ')[1]} ${body}`;
  },
};
const seen = {};
for (const [name, send] of Object.entries(CLIENTS)) {
  const results = new Set();
  for (let count = 0; count < 12; count++) {
    upload = new PassThrough();
    upload.on('error', () => {});
    upload.write(PART);
    results.add(await send().catch(({ code }) => code));
  }
  seen[name] = [...results].join(', ');
}
await agent.destroy();
server.close();

console.log('undici 8.12.4, Node', process.versions.node, 'on', process.platform);
console.log('12 uploads each:', seen);
const isLost = (result) => /^(EPIPE|ECONNRESET)(, (EPIPE|ECONNRESET))?$/.test(result);
const isSame = isLost(seen.undici) && isLost(seen['node:http']) && seen['a socket that keeps reading'] === '413 reason';
console.log(isSame ? 'As described.' : 'This has changed.');
process.exit(isSame ? 0 : 1);
JS
node run.mjs
