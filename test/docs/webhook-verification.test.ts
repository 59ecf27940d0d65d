import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newWebhookSecret, signWebhook } from '../../src/delivery/signing.ts';
import { codeBlocks, readPage, section } from './pages.ts';

const BODY = '{"id":"evt_1","type":"payment.settled","data":{"note":"Grüße, ₿"}}';
const SECRET = newWebhookSecret();
const OTHER_SECRET = newWebhookSecret();

// What each program does: reads {secret, headers, body} and prints the event, or ends with another code than 0.
const RUNNERS = [
  {
    language: 'js',
    heading: '### Node, by hand',
    file: 'verify.mjs',
    command: process.execPath,
    caller: `
      import { readFileSync } from 'node:fs';
      const { secret, headers, body } = JSON.parse(readFileSync(0, 'utf8'));
      console.log(JSON.stringify(verifyWebhook(secret, headers, Buffer.from(body))));`,
  },
  {
    language: 'python',
    heading: '### Python, by hand',
    file: 'verify.py',
    command: 'python3',
    caller: `
import sys
given = json.load(sys.stdin)
print(json.dumps(verify_webhook(given["secret"], given["headers"], given["body"].encode())))`,
  },
];

const isInstalled = (command: string) => spawnSync(command, ['--version']).status === 0;

function signed({ ageSeconds = 0, secrets = [SECRET], body = BODY } = {}) {
  const timestampSeconds = Math.floor(Date.now() / 1000) - ageSeconds;
  return {
    'webhook-id': 'evt_1',
    'webhook-timestamp': String(timestampSeconds),
    'webhook-signature': signWebhook({ id: 'evt_1', timestampSeconds, body, secrets }),
  };
}

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tollgate-snippet-'));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

describe.each(RUNNERS.filter(({ command }) => isInstalled(command)))('the code of "$heading"', (runner) => {
  beforeAll(async () => {
    const [code] = codeBlocks(section(await readPage('docs/webhooks.md'), runner.heading), runner.language);
    await writeFile(join(directory, runner.file), `${code}${runner.caller}\n`);
  });

  function verify(headers: Record<string, string>, body = BODY) {
    const input = JSON.stringify({ secret: SECRET, headers, body });
    const options = { input, encoding: 'utf8', env: { ...process.env, PYTHONIOENCODING: 'utf8' } } as const;
    const { status, stdout, stderr } = spawnSync(runner.command, [join(directory, runner.file)], options);
    return status === 0 ? { event: JSON.parse(stdout) } : { error: stderr };
  }

  test('accepts what this service signs', () => {
    expect(verify(signed())).toEqual({ event: JSON.parse(BODY) });
  });

  test('accepts either secret while one is rotated', () => {
    expect(verify(signed({ secrets: [OTHER_SECRET, SECRET] }))).toEqual({ event: JSON.parse(BODY) });
  });

  test.each([
    ['another secret', signed({ secrets: [OTHER_SECRET] }), BODY],
    ['a changed body', signed(), BODY.replace('settled', 'failed')],
    ['a signature from ten minutes ago', signed({ ageSeconds: 600 }), BODY],
    ['a signature from the future', signed({ ageSeconds: -600 }), BODY],
    ['another id', { ...signed(), 'webhook-id': 'evt_2' }, BODY],
    [
      'a signature of another scheme',
      { ...signed(), 'webhook-signature': signed()['webhook-signature'].replace('v1,', 'v2,') },
      BODY,
    ],
    ['no headers at all', {}, BODY],
  ])('refuses %s, in its own words', (_case, headers, body) => {
    expect(verify(headers, body)).toEqual({ error: expect.stringMatching(/The webhook is (too old|not signed)/) });
  });
});
