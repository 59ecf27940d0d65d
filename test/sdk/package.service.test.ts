import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { codeBlocks, ROOT, readPage, section } from '../docs/pages.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { INHERITED } from '../support/inherited.ts';
import { createPayment } from '../support/payments.ts';
import { type ReceivedRequest, type Receiver, startReceiver } from '../support/receiver.ts';
import { createEndpoint, createKey, createProject, createWebhook, type Resource } from '../support/resources.ts';

const run = promisify(execFile);
const TSC = join(ROOT, 'node_modules/.bin/tsc');

/** What examples need from the program around them. */
const VALUES = `
import process from 'node:process';
const { TOLLGATE_URL, TOLLGATE_API_KEY: apiKey, TOLLGATE_PROJECT: projectId } = process.env as Record<string, string>;
`;
const CLIENT = `${VALUES}
import { Tollgate } from '@tollgate/sdk';
const tollgate = new Tollgate({ baseUrl: TOLLGATE_URL, apiKey, projectId });
`;

/** The examples of the README and of the documentation in order, with what comes before and after them. */
const EXAMPLES: readonly { name: string; before?: string; after?: string }[] = [
  { name: 'start' },
  { name: 'list', before: CLIENT, after: 'console.log(data.map(({ id }) => id), nextCursor);' },
  { name: 'export', before: CLIENT },
  { name: 'errors', before: CLIENT },
  {
    name: 'verify',
    after: `
const { body, headers } = JSON.parse(process.env.WEBHOOK_REQUEST!);
for (const sent of [body, body.replace('payment', 'Payment')]) {
  const { status } = await handle(new Request('https://hooks.example.com', { method: 'POST', headers, body: sent }));
  console.log(status);
}`,
  },
  {
    name: 'follow',
    before: `${CLIENT}
function save(cursor: string | undefined): void {
  // Items from before the subscription have no cursor.
  if (cursor !== undefined) process.exit();
}
`,
  },
  { name: 'documentation', before: VALUES },
];

let app: TestApp;
let alice: TestUser;
let receiver: Receiver;
/** The code project of someone who has installed the package. */
let folder: string;
let readme: string;
let project: Resource & { base: string };
let env: Record<string, string>;

beforeAll(async () => {
  // A delivery is FAILED after its first attempt.
  app = await startTestApp({ delivery: { retryScheduleSeconds: [] } });
  alice = await app.user('alice');
  receiver = await startReceiver();
  project = await createProject(alice);
  const { key } = await createKey(alice, project.base);
  readme = await readPage('packages/sdk/README.md');
  folder = await mkdtemp(join(tmpdir(), 'tollgate-sdk-'));
  const installed = join(folder, 'node_modules/@tollgate/sdk');
  await mkdir(installed, { recursive: true });
  await cp(join(ROOT, 'packages/sdk/package.json'), join(installed, 'package.json'));
  await run(TSC, ['--project', join(ROOT, 'packages/sdk'), '--outDir', join(installed, 'dist')]);
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
  const examples = [...codeBlocks(readme, 'ts'), ...codeBlocks(await readPage('docs/sdk.md'), 'ts')];
  expect(examples).toHaveLength(EXAMPLES.length);
  for (const [index, { name, before = '', after = '' }] of EXAMPLES.entries()) {
    const example = examples[index]!.replace("'http://127.0.0.1:4000'", 'TOLLGATE_URL');
    await writeFile(join(folder, `${name}.ts`), before + example + after);
  }
  env = { ...INHERITED, TOLLGATE_URL: app.url, TOLLGATE_API_KEY: key, TOLLGATE_PROJECT: project.id };
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await receiver?.close();
  await app?.stop();
});

const runExample = (name: string, more: Record<string, string> = {}) =>
  run(process.execPath, [`${name}.ts`], { cwd: folder, env: { ...env, ...more } });

/** Sends a test event to the webhook, and waits until its delivery is finished. @returns the delivery's ID */
async function deliver(webhook: Resource): Promise<string> {
  const { body } = await alice.rest<{ id: string }>('POST', `${project.base}/webhooks/${webhook.id}/test`, {
    eventType: 'payment.settled',
  });
  const delivery = async () => (await alice.rest('GET', `${project.base}/deliveries/${body.id}`)).body;
  await expect.poll(delivery).toMatchObject({ status: expect.stringMatching(/^(SUCCEEDED|FAILED)$/) });
  return body.id;
}

test('all examples in the SDK’s README and documentation compile against the built package’s declarations', async () => {
  const options = ['--noEmit', '--strict', '--target', 'es2024', '--lib', 'es2024,dom', '--module', 'nodenext'];
  const types = ['--types', 'node', '--typeRoots', join(ROOT, 'node_modules/@types'), '--ignoreConfig'];
  const files = EXAMPLES.map(({ name }) => `${name}.ts`);
  const { stdout } = await run(TSC, [...options, ...types, ...files], { cwd: folder }).catch(
    (error: { stdout: string }) => error,
  );
  expect(stdout).toBe('');
});

describe('in the SDK’s README and documentation,', () => {
  test('the first example runs with the built package', async () => {
    expect((await runExample('start')).stdout).toBe('/weather 0.02\n');
  });

  test('the examples of lists, live feeds, and webhooks run', async () => {
    const webhook = await createWebhook(alice, project.base, { url: receiver.url });
    expect((await runExample('documentation')).stdout).toBe(`${receiver.url}\n`);

    await deliver(webhook);
    const [{ body, headers }] = (await receiver.waitFor(1)) as [ReceivedRequest];
    const request = JSON.stringify({ body: body.toString(), headers });
    const verified = await runExample('verify', { WEBHOOK_SECRET: webhook.secret, WEBHOOK_REQUEST: request });
    expect(verified.stdout).toMatch(/^\d+\.\d+\n204\n400\n$/);

    receiver.handle(() => ({ statusCode: 500 }));
    const failed = await deliver(webhook);
    expect((await runExample('list')).stdout).toBe(`[ '${failed}' ] null\n`);

    const following = runExample('follow');
    const hasEnded = following.then(() => true);
    // The example doesn't say when it has started to follow.
    let isDone = false;
    while (!isDone) isDone = await Promise.race([hasEnded, deliver(webhook).then(() => false)]);
    expect((await following).stdout).toMatch(/^(dlv_\w+ http_status\n)+$/);
  });

  test('the example of exports prints payments and saves them', async () => {
    const endpoint = await createEndpoint(alice, project.base);
    const place = { projectId: project.id, endpointId: endpoint.id };
    const { paymentId } = await createPayment(app, { ...place, mark: 'weather' });
    expect((await runExample('export')).stdout).toBe(`${paymentId} 0.01\n`);
    expect(await readFile(join(folder, 'payments.csv'), 'utf8')).toContain(`\n${paymentId},`);
  });

  test('the example of errors prints the error', async () => {
    const { stderr } = await runExample('errors');
    expect(stderr).toMatch(/^VALIDATION_FAILED 422 req_\S+ \[\s+\{\s+pointer: '\/priceUsd',\s+message: 'Must be /);
  });
});

test('the SDK’s README lists every method', async () => {
  const { OPERATIONS, LIVE_FIELDS } = await import('../../packages/sdk/src/generated.ts');
  const rows = Object.entries(OPERATIONS).map(([name, methods]) => {
    const names = [...Object.keys(methods), ...(name in LIVE_FIELDS ? ['follow'] : [])];
    return `| \`${name}\` | ${names.map((method) => `\`${method}\``).join(' ')} |`;
  });
  for (const row of rows) expect(section(readme, '## Methods')).toContain(row);
});
