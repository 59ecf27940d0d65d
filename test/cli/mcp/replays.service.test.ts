import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { openMcp } from '../../support/mcp.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { createEndpoint, createProject, createWebhook } from '../../support/resources.ts';

let app: TestApp;
let alice: TestUser;
let receiver: Receiver;
let base: string;
let env: Record<string, string>;

type Prepared = { total: number; confirmation: string | null };

beforeAll(async () => {
  app = await startTestApp();
  alice = await app.user('alice', 'ENTERPRISE');
  receiver = await startReceiver();
});
afterAll(async () => {
  await receiver?.close();
  await app?.stop();
});

beforeEach(async () => {
  const project = await createProject(alice);
  base = project.base;
  env = { TOLLGATE_URL: app.url, TOLLGATE_TOKEN: alice.token, TOLLGATE_PROJECT: project.id };
  await createWebhook(alice, base, { url: receiver.url });
  receiver.requests.length = 0;
  await createEndpoint(alice, base);
  await createEndpoint(alice, base);
  await expect.poll(succeeded).toBe(2);
});

async function succeeded(): Promise<number> {
  const { body } = await alice.rest<{ data: unknown[] }>('GET', `${base}/deliveries?status=SUCCEEDED`);
  return body.data.length;
}

async function replays(): Promise<{ total: number }[]> {
  return (await alice.rest<{ data: { total: number }[] }>('GET', `${base}/replays`)).body.data;
}

test('a replay requires the confirmation that a count returned, and it works only once', async () => {
  await using mcp = await openMcp(env);
  const counted = await mcp.call('prepare_replay', { status: ['SUCCEEDED'] });
  const { total, confirmation } = counted.structured as Prepared;
  expect({ total, replays: await replays() }).toEqual({ total: 2, replays: [] });
  expect(await mcp.call('start_replay')).toMatchObject({ isError: true });
  expect(await mcp.call('start_replay', { confirmation: 'confirm_made_up' })).toMatchObject({
    isError: true,
    text: expect.stringContaining('Nothing was sent.'),
  });
  expect(await replays()).toEqual([]);

  const started = await mcp.call('start_replay', { confirmation });
  expect(started.structured, started.text).toMatchObject({ total: 2 });
  await receiver.waitFor(4);
  expect(await mcp.call('start_replay', { confirmation })).toMatchObject({ isError: true });
  expect(await replays()).toHaveLength(1);
});

test('a confirmation is rejected for another project, and by another process', async () => {
  await using mcp = await openMcp(env);
  await using another = await openMcp(env);
  const counted = await mcp.call('prepare_replay', { status: ['SUCCEEDED'] });
  const { confirmation } = counted.structured as Prepared;
  expect(await another.call('start_replay', { confirmation })).toMatchObject({ isError: true });
  const { id: projectId } = await createProject(alice);
  expect(await mcp.call('start_replay', { confirmation, projectId })).toMatchObject({ isError: true });
  expect(await replays()).toEqual([]);
});

test('a replay is rejected if more deliveries match than were counted', async () => {
  await using mcp = await openMcp(env);
  const until = new Date(Date.now() + 3_600_000).toISOString();
  const counted = await mcp.call('prepare_replay', { status: ['SUCCEEDED'], until });
  const { confirmation } = counted.structured as Prepared;
  await createEndpoint(alice, base);
  await expect.poll(succeeded).toBe(3);
  expect(await mcp.call('start_replay', { confirmation })).toMatchObject({
    isError: true,
    text: expect.stringContaining('3 deliveries now match, not 2'),
  });
  expect(await replays()).toEqual([]);
});

test('a replay is rejected if more deliveries match by the time the user agrees', async () => {
  await using mcp = await openMcp(env, async () => {
    await createEndpoint(alice, base);
    await expect.poll(succeeded).toBe(3);
    return 'confirm';
  });
  const until = new Date(Date.now() + 3_600_000).toISOString();
  const counted = await mcp.call('prepare_replay', { status: ['SUCCEEDED'], until });
  const { confirmation } = counted.structured as Prepared;
  expect(await mcp.call('start_replay', { confirmation })).toMatchObject({
    isError: true,
    text: expect.stringContaining('3 deliveries now match, not 2'),
  });
  expect(mcp.questions).toEqual(['Resend 2 deliveries, up to 50 per second?']);
  expect(await replays()).toEqual([]);
});

test('if the client can ask the user, the user decides about replays and prices', async () => {
  for (const reply of ['refuse', 'close', 'confirm'] as const) {
    await using mcp = await openMcp(env, reply);
    const counted = await mcp.call('prepare_replay', { status: ['SUCCEEDED'] });
    const { confirmation } = counted.structured as Prepared;
    const started = await mcp.call('start_replay', { confirmation });
    const { body } = await alice.rest<{ data: { id: string; path: string; priceUsd: string }[] }>(
      'GET',
      `${base}/endpoints`,
    );
    const [endpoint] = body.data;
    const changed = await mcp.call('update_endpoint', { endpointId: endpoint!.id, priceUsd: '0.5' });
    const isRefused = reply !== 'confirm';
    expect([started.isError, changed.isError], reply).toEqual([isRefused, isRefused]);
    expect(mcp.questions).toEqual([
      'Resend 2 deliveries, up to 50 per second?',
      `Change the price of ${endpoint!.path} from ${endpoint!.priceUsd} to 0.5 USD?`,
    ]);
    if (isRefused) expect(await replays()).toEqual([]);
  }
  expect(await replays()).toHaveLength(1);
});
