import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApp, type TestApp } from '../support/app.ts';
import { freePort } from '../support/free-port.ts';
import { codeBlocks, ROOT, readPage, section } from './pages.ts';

let app: TestApp;
let shell: ChildProcess;
let output = '';

beforeAll(async () => {
  app = await startTestApp();
  // With job control, as in a terminal, `kill %1` reaches all processes of a job.
  shell = spawn('bash', ['-m'], { cwd: ROOT, env: { ...process.env, DATA_DIR: app.dataDir }, detached: true });
  for (const stream of [shell.stdout!, shell.stderr!]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text;
    });
  }
});

afterAll(async () => {
  shell.stdin!.end('kill %1 %2 %3 2>/dev/null; exit\n');
  if (shell.exitCode === null) await once(shell, 'exit');
  await app.stop();
});

/** Types a block into the shell and returns its output once it is done. */
async function type(block: string): Promise<string> {
  const start = output.length;
  const done = `done-${start}`;
  shell.stdin!.write(`${block}\necho ${done}\n`);
  await shows(done);
  return output.slice(start);
}

async function shows(text: string | RegExp): Promise<void> {
  await expect.poll(() => output).toMatch(text);
}

test('the quick start works as written, block by block', async () => {
  const quickStart = section(await readPage('README.md'), '## Quick start');
  const port = await freePort();
  const adapt = (code: string) =>
    code.replaceAll('http://127.0.0.1:4000', app.url).replaceAll('http://127.0.0.1:4010', `http://127.0.0.1:${port}`);
  const [start, helpers, project, webhook, receiver, endpoint, history, headers, watch, change, end, ...rest] =
    codeBlocks(quickStart, 'bash').map(adapt);
  expect(start).toBe('npm start\n');
  expect(rest).toEqual([]);

  await type(helpers!);
  expect(await type(project!)).toContain("name: 'Weather'");
  expect(await type(webhook!)).toContain("secret: 'whsec_");
  await type(receiver!.replace('receiver', `receiver -- --port ${port}`));
  await shows('Signatures are checked.');
  await type(endpoint!);
  await shows(/signature: valid\s+\{[^}]+"type": "endpoint.created"/);
  await expect.poll(() => type(history!)).toMatch(/status: 'SUCCEEDED',[^}]*statusCode: 200,[^}]*retryCount: 0/);

  const credential = JSON.parse(/^\{.*\}$/m.exec(await type(headers!))![0]).Authorization.replace('Bearer ', '');
  const [query] = codeBlocks(quickStart, 'graphql');
  const answer = await app.caller(credential).graphql(query!);
  expect(answer.errors).toBeUndefined();
  expect(JSON.stringify(answer.data)).toMatch(/Weather.*\/weather.*ENDPOINT_CREATED.*SUCCEEDED/);

  await type(watch!);
  await type(change!);
  for (const kind of ['ENDPOINT_PRICING_CHANGED', 'PAYMENT_SETTLED']) {
    await shows(new RegExp(`event: next\\s+data: .*"eventType":"${kind}","status":"SUCCEEDED","statusCode":200`));
  }
  expect(output.match(/signature: valid/g)).toHaveLength(3);
  await type(end!);
});
