import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join as joinPath } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { openDevIssuer } from '../../../src/auth/dev-issuer.ts';
import { codeBlocks, readPage, section } from '../../docs/pages.ts';
import { caller } from '../../support/app.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { join } from '../../support/members.ts';
import { metricValue, readMetrics } from '../../support/metrics.ts';
import { createEndpoint, createProject } from '../../support/resources.ts';
import { type ServiceNode, startServiceNode } from '../../support/service-node.ts';
import { installClients } from './installed.ts';
import { compileForRelay, type Folder, openFolder, type Running, writePolicies } from './program.ts';

// The programs of the documentation follow a project's events while the service restarts. As in a deployment, the server
// is stopped and refuses connections for a while, and events are recorded in the meantime by another server.

const WAIT = { timeout: 120_000, interval: 50 };
const QUERY = `subscription ($project: ID!, $after: String) {
  eventRecorded(projectId: $project, after: $after) { cursor event { id type data } }
}`;
/** What the programs leave to the reader. */
const LEFT_OPEN = `
const freshToken = async () => process.env.TOKEN;
const project = process.env.PROJECT;
const handle = async ({ id }) => console.log(id);
globalThis.WebSocket = class extends WebSocket {
  constructor(...args) {
    super(...args);
    this.addEventListener('error', () => console.log('refused'));
  }
};
`;

const LIVE = await readPage('docs/live.md');
const CLIENTS = await readPage('docs/api-clients.md');
const [iterating] = codeBlocks(section(LIVE, '## WebSocket'), 'ts');
const [continuing] = codeBlocks(section(LIVE, '### Apollo Client, urql, and Relay'), 'ts');
const blocksOf = (heading: string) => codeBlocks(section(CLIENTS, heading), 'js');

const PROGRAMS: Readonly<Record<string, string>> = {
  'graphql-ws': `let after: string | undefined;\n${iterating}`,
  'Apollo Client': `${continuing}\n${blocksOf('### Apollo Client').at(-1)}
import { gql } from '@apollo/client';
client.subscribe({ query: gql\`${QUERY}\`, variables: { project, after: process.env.AFTER } }).subscribe({
  next: ({ data }) => handle(data.eventRecorded.event),
});`,
  urql: `const after = process.env.AFTER;\nconst query = \`${QUERY}\`;\n${continuing}\n${blocksOf('### urql').join('\n')}`,
  Relay: `${continuing}\n${blocksOf('### Relay')[0]}
import { requestSubscription } from 'relay-runtime';
import subscription from './relay/__generated__/followSubscription.graphql.js';
requestSubscription(environment, {
  subscription,
  variables: { project, after: process.env.AFTER },
  onNext: (data) => handle(data.eventRecorded.event),
});`,
};

let database: TestDatabase;
let dataDir: string;
let token: string;
let installed: string;
/** The server that the program is connected to, and the one that stays up. */
let restarting: ServiceNode;
let other: ServiceNode;
const folders: Folder[] = [];

beforeAll(async () => {
  installed = await installClients();
  database = await createTestDatabase();
  dataDir = await mkdtemp(joinPath(tmpdir(), 'tollgate-live-clients-'));
  token = await (await openDevIssuer({ dataDir })).sign({ subject: 'alice', tier: 'ENTERPRISE' });
  const options = { role: 'api', databaseUrl: database.url, dataDir } as const;
  restarting = await startServiceNode(options);
  other = await startServiceNode(options);
}, 600_000);
afterEach(async () => {
  for (const folder of folders.splice(0)) await folder.close();
});
afterAll(async () => {
  for (const node of [restarting, other]) await node?.end('SIGKILL');
  await rm(dataDir, { recursive: true, force: true });
  await database?.drop();
});

const alice = () => caller(other.url, 'alice', token);
const idsIn = (text: string) => text.split('\n').filter((line) => line.startsWith('evt_'));

/** Writes a program that connects to the restarting server. */
async function prepare(program: string): Promise<Folder> {
  const own = (code: string) => code.replaceAll('127.0.0.1:4000', new URL(restarting.url).host);
  const folder = await openFolder(installed, { 'program.ts': LEFT_OPEN + own(program) });
  folders.push(folder);
  return folder;
}

async function startOf(projectId: string): Promise<string> {
  const { data } = await alice().graphql<{ project: { liveCursors: { events: string } } }>(
    'query ($id: ID!) { project(id: $id) { liveCursors { events } } }',
    { id: projectId },
  );
  return data!.project.liveCursors.events;
}

test.for(Object.keys(PROGRAMS))('%s loses no event while the server restarts', async (name) => {
  const { id: projectId, base } = await createProject(alice());
  const after = await startOf(projectId);
  const folder = await prepare(PROGRAMS[name]!);
  if (name === 'Relay')
    await compileForRelay(folder, { follow: QUERY.replace('subscription', 'subscription followSubscription') });
  if (name === 'Apollo Client') await writePolicies(folder);
  let count = 0;
  /** Each endpoint causes one event. */
  const record = () => createEndpoint(alice(), base, { path: `/path-${++count}` });
  const recorded = async () => {
    const { data } = await alice().graphql<{ project: { events: { nodes: { id: string }[] } } }>(
      'query ($id: ID!) { project(id: $id) { events(first: 100) { nodes { id } } } }',
      { id: projectId },
    );
    return data!.project.events.nodes.map(({ id }) => id).toReversed();
  };

  const program: Running = folder.start(['program.ts'], { TOKEN: token, PROJECT: projectId, AFTER: after });
  /** Events may arrive twice, and are recognized by their ID. */
  const arrived = () => [...new Set(idsIn(program.stdout()))];
  const refused = () => program.stdout().split('refused').length - 1;
  const allArrive = async () => {
    const expected = await recorded();
    expect(expected).toHaveLength(count);
    await expect.poll(() => (arrived().length === count ? arrived() : program.stderr()), WAIT).toEqual(expected);
  };

  // The first restart happens before any event has arrived, and the second one after that.
  const followers = async () => metricValue(await readMetrics(restarting.url), 'tollgate_live_subscriptions');
  await expect.poll(followers, WAIT).toBe(1);
  for (const round of ['first', 'second']) {
    const attempts = refused();
    expect(await restarting.end(), round).toBe(0);
    for (let index = 0; index < 3; index++) await record();
    await expect.poll(refused, WAIT).toBeGreaterThan(attempts);
    await restarting.start();
    await record();
    await allArrive();
    await record();
    await allArrive();
  }
  // It continued after the last event rather than from the cursor that it started with.
  expect(idsIn(program.stdout()).filter((id) => id === arrived()[0])).toHaveLength(1);
  expect(await Promise.race([program.ended, 'still running'])).toBe('still running');
});

test('urql repeats its last result when its subscription is rejected', async () => {
  const { id: projectId, base } = await createProject(alice());
  const issuer = await openDevIssuer({ dataDir });
  const bobToken = await issuer.sign({ subject: 'bob', email: 'bob@example.com' });
  const member = await join(alice(), base, caller(other.url, 'bob', bobToken), 'VIEWER');
  const folder = await prepare(`${continuing}\n${blocksOf('### urql')[0]}
client.subscription(\`${QUERY}\`, { project, after: process.env.AFTER }).subscribe(({ data, error, hasNext }) => {
  console.log(JSON.stringify({ id: data?.eventRecorded?.event.id, hasNext, isRejected: error !== undefined }));
});`);
  const after = await startOf(projectId);
  const program = folder.start(['program.ts'], { TOKEN: bobToken, PROJECT: projectId, AFTER: after });
  await createEndpoint(alice(), base);
  await expect.poll(() => program.stdout(), WAIT).toContain('evt_');
  // The server closes the socket, and the client connects again.
  await alice().rest('DELETE', `${base}/members/${member.id}`);
  const results = () => program.stdout().trim().split('\n');
  await expect.poll(() => results().length, WAIT).toBe(3);
  const { id } = JSON.parse(results()[0]!) as { id: string };
  expect(results().map((line) => JSON.parse(line))).toEqual([
    { id, hasNext: true, isRejected: false },
    { id, hasNext: true, isRejected: true },
    { id, hasNext: false, isRejected: true },
  ]);
});
