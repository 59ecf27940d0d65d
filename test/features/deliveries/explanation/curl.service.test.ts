import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newWebhookSecret } from '../../../../src/delivery/send/signing.ts';
import { connectorCurl, webhookCurl } from '../../../../src/features/deliveries/explanation/curl.ts';
import { scrub } from '../../../../src/secrets/redact.ts';
import { hostileText } from '../../../support/hostile-text.ts';
import { type Receiver, startReceiver } from '../../../support/receiver.ts';
import { runShell } from '../../../support/run-shell.ts';

let receiver: Receiver;

beforeAll(async () => {
  receiver = await startReceiver();
});
afterAll(() => receiver.close());

async function received(command: string, variables: Record<string, string>) {
  const before = receiver.requests.length;
  const result = await runShell(command, variables);
  expect(result).toMatchObject({ exitCode: 0 });
  expect(receiver.requests).toHaveLength(before + 1);
  return receiver.requests.at(-1)!;
}

const SYNTAX = [
  "'",
  `'"'"'`,
  '$(touch /dev/null)',
  '`id`',
  '$WEBHOOK_SECRET',
  '\\',
  '\n',
  '!!',
  '"; exit 9; "',
  "'; exit 9; '",
];

describe('the curl command for a webhook', () => {
  const secret = newWebhookSecret();
  const headers = { 'content-type': 'application/json', 'user-agent': 'Tollgate/1', 'webhook-id': 'evt_1' };

  test('sends any body byte for byte, with a valid signature', async () => {
    const text = fc.oneof(
      hostileText(80),
      fc.array(fc.constantFrom(...SYNTAX), { maxLength: 8 }).map((all) => all.join('')),
    );
    // A command starts many processes, so each command sends many strings. One of them can be as long as
    // a command allows.
    const shortTexts = fc.array(
      text.filter(({ length }) => length < 1_000),
      { maxLength: 20 },
    );
    await fc.assert(
      fc.asyncProperty(text, shortTexts, async (first, others) => {
        const values = [first, ...others];
        // Stored JSON contains no NUL characters or lone surrogates.
        const body = `{"data":${JSON.stringify(values.map((value) => value.toWellFormed()))}}`;
        const { command } = webhookCurl({ method: 'POST', url: `${receiver.url}/in`, headers, body });
        const request = await received(command, { WEBHOOK_SECRET: secret });
        expect(request.body.toString()).toBe(body);
        new Webhook(secret).verify(body, request.headers as Record<string, string>);
      }),
      { numRuns: 8 },
    );
  });

  test('has a variable for the value of each of the webhook’s own headers', async () => {
    const request = { method: 'POST', url: `${receiver.url}/in`, headers, body: '{}' };
    const { command, variables } = webhookCurl(request, { ownHeaders: ['x-api-key', 'authorization'] });
    expect(variables.map(({ name }) => name)).toEqual(['WEBHOOK_SECRET', 'HEADER_X_API_KEY', 'HEADER_AUTHORIZATION']);
    const values = { HEADER_X_API_KEY: "a 'key'", HEADER_AUTHORIZATION: 'Bearer $token' };
    const sent = await received(command, { WEBHOOK_SECRET: secret, ...values });
    expect(sent.headers).toMatchObject({ 'x-api-key': "a 'key'", authorization: 'Bearer $token' });
  });

  test('works for a header whose name contains what shells treat as quotes', async () => {
    const name = "x-'`&|$";
    const request = { method: 'POST', url: `${receiver.url}/in`, headers: { ...headers, [name]: 'own' }, body: '{}' };
    const { command, variables } = webhookCurl(request, { ownHeaders: [name] });
    const values = Object.fromEntries(variables.map((variable) => [variable.name, 'own']));
    expect((await received(command, { ...values, WEBHOOK_SECRET: secret })).headers[name]).toBe('own');
  });

  test('has no `!` outside single quotes, which shells replace with an earlier command when it is pasted', () => {
    const name = 'x-key!id';
    const request = { method: 'POST', url: `${receiver.url}/in`, headers: { ...headers, [name]: 'own' }, body: '{}' };
    const { command } = webhookCurl(request, { ownHeaders: [name] });
    expect(command).toContain(`'${name}: '`);
    expect(command.replaceAll(/'[^']*'/g, '')).not.toContain('!');
  });

  test('does not change any URL', async () => {
    const path = fc.array(fc.string({ maxLength: 40 }), { minLength: 1, maxLength: 16 });
    const address = path.map(
      (texts) => new URL(`${receiver.url}/p${texts.map((text) => text + SYNTAX.join('')).join('')}`).href,
    );
    await fc.assert(
      fc.asyncProperty(address, async (url) => {
        const { command } = webhookCurl({ method: 'POST', url, headers, body: '{}' });
        const request = await received(command, { WEBHOOK_SECRET: secret });
        // The fragment isn't sent, and `search` doesn't distinguish an empty query from no query.
        const [sent] = url.slice(receiver.url.length).split('#');
        expect(request.path).toBe(sent);
      }),
      { numRuns: 6 },
    );
  });

  test('replaces a URL that may contain a secret with a variable', async () => {
    const url = `${receiver.url}/in?token='1`;
    const { command, variables } = webhookCurl({ method: 'POST', url, headers, body: '{}' }, { hidesUrl: true });
    expect(variables.map(({ name }) => name)).toEqual(['WEBHOOK_URL', 'WEBHOOK_SECRET']);
    expect(command).not.toContain('token');
    const request = await received(command, { WEBHOOK_URL: url, WEBHOOK_SECRET: secret });
    expect(request.path).toBe("/in?token='1");
  });

  test('accepts the secret with or without its prefix, and names a missing variable', async () => {
    const { command, variables } = webhookCurl({ method: 'POST', url: receiver.url, headers, body: '{}' });
    expect(variables).toMatchObject([{ name: 'WEBHOOK_SECRET' }]);
    const request = await received(command, { WEBHOOK_SECRET: secret.replace('whsec_', '') });
    new Webhook(secret).verify('{}', request.headers as Record<string, string>);
    const without = await runShell(`unset WEBHOOK_SECRET\n${command}`);
    expect(without.exitCode).not.toBe(0);
    expect(without.stderr).toContain('WEBHOOK_SECRET');
  });
});

describe('the curl command for a connector', () => {
  const secrets = [
    { name: 'apiKey', value: `sk-'live'-0123456789abcdef` },
    { name: 'webhookUrl', value: 'https://hooks.example.com/services/T000/B000/abcdefghijklmnopqrstuvwx' },
  ];
  const values = secrets.map(({ value }) => value);

  test('replaces each secret with a variable, wherever it occurs', async () => {
    const curl = connectorCurl(
      {
        method: 'PUT',
        url: `${receiver.url}/keys/${values[0]}/x`,
        headers: { authorization: `Bearer ${values[0]}`, 'content-type': 'text/plain', 'x-empty': 'a: b' },
        body: `key=${values[0]}&it's`,
      },
      secrets,
    )!;
    expect(scrub(curl.command, values)).toBe(curl.command);
    expect(curl.variables).toEqual([{ name: 'API_KEY', description: 'The connector’s `apiKey`.' }]);
    const request = await received(curl.command, { API_KEY: values[0]! });
    expect(request).toMatchObject({
      method: 'PUT',
      headers: { authorization: `Bearer ${values[0]}`, 'x-empty': 'a: b' },
    });
    expect(request.body.toString()).toBe(`key=${values[0]}&it's`);
  });

  test('replaces the whole header or URL if the secret is encoded or split', async () => {
    const basic = `Basic ${Buffer.from(`user:${values[0]}`).toString('base64')}`;
    const url = `${receiver.url}/api/abcdefghijklmnopqrstuvwx`;
    const curl = connectorCurl({ method: 'GET', url, headers: { authorization: basic } }, secrets)!;
    expect(curl.command).not.toContain('abcdefghijklmnopqrstuvwx');
    expect(curl.variables.map(({ name }) => name)).toEqual(['REQUEST_URL', 'HEADER_AUTHORIZATION']);
    const request = await received(curl.command, { REQUEST_URL: url, HEADER_AUTHORIZATION: basic });
    expect(request).toMatchObject({ method: 'GET', path: '/api/abcdefghijklmnopqrstuvwx' });
    expect(request.headers.authorization).toBe(basic);
  });

  test('masks authentication headers even if they contain no known secret', () => {
    const headers = { authorization: 'Bearer made-of-the-secret', 'x-signature': 'abc' };
    const curl = connectorCurl({ method: 'GET', url: receiver.url, headers }, secrets)!;
    expect(curl.command).not.toMatch(/made-of-the-secret|abc'/);
  });

  test('is not shown if the body contains a secret in a different form', () => {
    const body = Buffer.from(values[0]!).toString('base64');
    expect(connectorCurl({ method: 'POST', url: receiver.url, headers: {}, body }, secrets)).toBeUndefined();
  });
});
