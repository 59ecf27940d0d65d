#!/usr/bin/env bash
# n8n responds with an error to a webhook whose workflow succeeded, and with success to a webhook that it ignored.
#
# Expected: the status of the response says whether the workflow ran.
#
# Seen: if a Webhook node responds when the last node finishes, and that node has no item left, for example, because it is
# a Filter node, the status is 500, although n8n itself lists the run as successful. A failed run also has status 500. And
# while n8n starts up, every request gets status 200 and "n8n is starting up. Please wait", and nothing runs.
#
# What follows: senders retry events that have been processed, so the workflow runs several times, and forget events that
# n8n got while it was being updated. Read the body: `{"message":"Error in workflow"}` is a failed run.
#
# Installing n8n takes several minutes and about 3 GB.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
# The install scripts of packages that aren't needed here download more files. SQLite is built from its package.
npm install --silent --no-audit --no-fund --ignore-scripts n8n@2.41.1
npm rebuild --silent sqlite3
cat > run.mjs <<'JS'
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';

const probe = createServer().listen(0, '127.0.0.1');
await once(probe, 'listening');
const { port } = probe.address();
probe.close();
await once(probe, 'close');
const url = `http://127.0.0.1:${port}`;
const off = ['DIAGNOSTICS', 'VERSION_NOTIFICATIONS', 'TEMPLATES', 'PERSONALIZATION', 'COMMUNITY_PACKAGES', 'DYNAMIC_BANNERS'];
const n8n = spawn('node_modules/.bin/n8n', ['start'], {
  env: {
    ...process.env,
    ...Object.fromEntries(off.map((name) => [`N8N_${name}_ENABLED`, 'false'])),
    ...{ NODE_ENV: 'production', N8N_USER_FOLDER: process.cwd(), N8N_LISTEN_ADDRESS: '127.0.0.1', N8N_PORT: String(port) },
    ...{ N8N_SECURE_COOKIE: 'false', EXTERNAL_FRONTEND_HOOKS_URLS: '' },
  },
  stdio: 'ignore',
});
process.on('exit', () => n8n.kill());
// n8n exits with an error if it doesn't support this version of Node.
n8n.once('exit', (code) => code && process.exit(1));
const exited = once(n8n, 'exit');

const post = async (path, body, headers = {}) => {
  const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) };
  const response = await fetch(url + path, init);
  return { status: response.status, text: await response.text(), cookie: response.headers.getSetCookie().join(';') };
};
const shown = ({ status, text }) => `${status} ${text}`;

const wait = () => new Promise((resolve) => setTimeout(resolve, 100));
setTimeout(() => process.exit(1), 600_000).unref();

let startup = '';
// The first message in JSON comes after startup.
for (let text = ''; !text.startsWith('{'); await wait()) {
  const response = await post('/webhook/orders', {}).catch(() => undefined);
  if (response?.status === 200) startup = shown(response);
  text = response?.text ?? '';
}
const owner = { email: 'me@example.com', firstName: 'A', lastName: 'B', password: 'Passw0rd-1' };
let session = await post('/rest/owner/setup', owner);
for (; session.status !== 200; session = await post('/rest/owner/setup', owner)) await wait();
const headers = { cookie: session.cookie.split(';')[0] };

const node = (name, type, typeVersion, parameters) => ({ id: name, name, type: `n8n-nodes-base.${type}`, typeVersion, position: [0, 0], parameters });
async function run(path, last) {
  const webhook = { ...node('Webhook', 'webhook', 2.1, { httpMethod: 'POST', path, responseMode: 'lastNode', options: {} }), webhookId: path };
  const connections = { Webhook: { main: [[{ node: last.name, type: 'main', index: 0 }]] } };
  const made = await post('/rest/workflows', { name: path, nodes: [webhook, last], connections, settings: {} }, headers);
  const { id, versionId } = JSON.parse(made.text).data;
  await post(`/rest/workflows/${id}/activate`, { versionId, name: 'first', description: '' }, headers);
  let response = await post(`/webhook/${path}`, { type: 'order' });
  for (; response.status === 404; response = await post(`/webhook/${path}`, { type: 'order' })) await wait();
  let runs = [];
  for (; runs.every(({ status }) => status === 'running'); await wait()) {
    const filter = encodeURIComponent(JSON.stringify({ workflowId: id }));
    runs = (await (await fetch(`${url}/rest/executions?filter=${filter}`, { headers })).json()).data.results;
  }
  return `${runs.map(({ status }) => status)}: ${shown(response)}`;
}
const condition = { leftValue: '={{ $json.body.type }}', rightValue: 'refund', operator: { type: 'string', operation: 'equals' } };
const conditions = { options: { caseSensitive: true, typeValidation: 'loose', version: 2 }, conditions: [condition], combinator: 'and' };
const seen = {
  'during startup': startup,
  'filtered run': await run('filtered', node('Filter', 'filter', 2.2, { conditions, options: {} })),
  'failed run': await run('failed', node('Stop', 'stopAndError', 1, { errorMessage: 'no' })),
};
n8n.kill();
await exited;

console.log('n8n 2.41.1, Node', process.versions.node);
console.log(seen);
const expected = {
  'during startup': '200 n8n is starting up. Please wait',
  'filtered run': 'success: 500 {"code":0,"message":"No item to return was found"}',
  'failed run': 'error: 500 {"message":"Error in workflow"}',
};
const isSame = JSON.stringify(seen) === JSON.stringify(expected);
console.log(isSame ? 'As described.' : 'This has changed.');
process.exit(isSame ? 0 : 1);
JS
node run.mjs
