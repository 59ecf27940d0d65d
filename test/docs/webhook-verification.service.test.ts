import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newWebhookSecret, signWebhook } from '../../src/delivery/send/signing.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { type ReceivedRequest, type Receiver, startReceiver } from '../support/receiver.ts';
import { createEndpoint, createProject, createWebhook } from '../support/resources.ts';
import { isInstalled, type Request, runVerifier, VERIFIERS, writeVerifier } from './verifiers.ts';

const TOO_OLD = 'The timestamp is too old or in the future.';
const NOT_SIGNED = 'The webhook is not signed with this secret.';

let app: TestApp;
let receiver: Receiver;
let cases: { name: string; request: Request; verdict: string }[];

beforeAll(async () => {
  app = await startTestApp();
  receiver = await startReceiver();
  cases = [...(await deliveredCases()), ...signedCases()];
});
afterAll(async () => {
  await receiver.close();
  await app.stop();
});

/** Requests sent by the service, and forged variants of them. */
async function deliveredCases() {
  const user = await app.user('alice');
  const { base } = await createProject(user);
  const webhook = await createWebhook(user, base, { url: receiver.url });
  await createEndpoint(user, base, { description: 'Grüße an alle, für 1 ₿ 🎉' });
  const [plain] = await receiver.waitFor(1);
  const rotated = await user.rest<{ secret: string }>('POST', `${base}/webhooks/${webhook.id}/rotate-secret`);
  await user.rest('POST', `${base}/webhooks/${webhook.id}/test`, { eventType: 'payment.settled' });
  const [, sent] = await receiver.waitFor(2);
  const real = requestOf(plain!, webhook.secret);
  const overlap = requestOf(sent!, rotated.body.secret);
  expect(overlap.signature.split(' ')).toHaveLength(2);
  const [first, second] = overlap.signature.split(' ');

  return [
    { name: 'a delivery', request: real, verdict: 'accepted' },
    { name: 'a test event, with the new secret of a rotation', request: overlap, verdict: 'accepted' },
    {
      name: 'a test event, with the old secret of a rotation',
      request: { ...overlap, secret: webhook.secret },
      verdict: 'accepted',
    },
    {
      name: 'additional signatures of future versions',
      request: { ...overlap, signature: `v1a,AAAA ${second} v9 ${first}` },
      verdict: 'accepted',
    },
    {
      name: 'a secret without its prefix',
      request: { ...real, secret: real.secret.replace('whsec_', '') },
      verdict: 'accepted',
    },
    { name: 'another secret', request: { ...real, secret: newWebhookSecret() }, verdict: NOT_SIGNED },
    {
      name: 'a changed body',
      request: { ...real, body: Buffer.from(real.body.toString().replace('0.01', '9.99')) },
      verdict: NOT_SIGNED,
    },
    {
      name: 'a body with an additional newline',
      request: { ...real, body: Buffer.concat([real.body, Buffer.from('\n')]) },
      verdict: NOT_SIGNED,
    },
    {
      name: 'a body that was parsed and serialized again',
      request: { ...real, body: Buffer.from(JSON.stringify(JSON.parse(real.body.toString()), null, 2)) },
      verdict: NOT_SIGNED,
    },
    { name: 'the body of another delivery', request: { ...real, body: overlap.body }, verdict: NOT_SIGNED },
    { name: 'another id', request: { ...real, id: overlap.id }, verdict: NOT_SIGNED },
    {
      name: 'a later timestamp than was signed',
      request: { ...real, timestamp: String(Number(real.timestamp) + 1) },
      verdict: NOT_SIGNED,
    },
    {
      name: 'a signature marked as another version',
      request: { ...real, signature: real.signature.replace('v1,', 'v2,') },
      verdict: NOT_SIGNED,
    },
    {
      name: 'half a signature',
      request: { ...real, signature: real.signature.slice(0, 25) },
      verdict: NOT_SIGNED,
    },
    { name: 'an empty signature', request: { ...real, signature: 'v1,' }, verdict: NOT_SIGNED },
    { name: 'a signature without a version', request: { ...real, signature: 'v1' }, verdict: NOT_SIGNED },
    { name: 'no signature', request: { ...real, signature: '' }, verdict: NOT_SIGNED },
    { name: 'no id', request: { ...real, id: '' }, verdict: NOT_SIGNED },
    { name: 'no timestamp', request: { ...real, timestamp: '' }, verdict: TOO_OLD },
    { name: 'no headers', request: { ...real, id: '', timestamp: '', signature: '' }, verdict: TOO_OLD },
  ];
}

/** Correctly signed requests with timestamps other than now. */
function signedCases() {
  const nowSeconds = Math.floor(Date.now() / 1000);
  const at = (timestamp: string): Request => {
    const [secret, id, body] = [newWebhookSecret(), 'evt_1', '{"type":"payment.settled"}'];
    const message = { id, body, secrets: [secret], timestampSeconds: timestamp as unknown as number };
    return { secret, id, timestamp, signature: signWebhook(message), body: Buffer.from(body) };
  };
  return [
    { name: 'four minutes old', request: at(String(nowSeconds - 240)), verdict: 'accepted' },
    { name: 'a clock four minutes ahead', request: at(String(nowSeconds + 240)), verdict: 'accepted' },
    { name: 'ten minutes old', request: at(String(nowSeconds - 600)), verdict: TOO_OLD },
    { name: 'ten minutes ahead', request: at(String(nowSeconds + 600)), verdict: TOO_OLD },
    { name: 'a timestamp in milliseconds', request: at(String(nowSeconds * 1000)), verdict: TOO_OLD },
    { name: "a timestamp that isn't a number", request: at('now'), verdict: TOO_OLD },
    { name: 'a timestamp that is NaN', request: at('NaN'), verdict: TOO_OLD },
    { name: 'a timestamp of many digits', request: at('9'.repeat(30)), verdict: TOO_OLD },
  ];
}

function requestOf({ headers, body }: ReceivedRequest, secret: string): Request {
  const [id, timestamp, signature] = ['id', 'timestamp', 'signature'].map((name) => String(headers[`webhook-${name}`]));
  return { secret, id: id!, timestamp: timestamp!, signature: signature!, body };
}

for (const verifier of VERIFIERS) {
  const isRun = isInstalled(verifier);
  if (!isRun)
    console.warn(`Skipped: the program for ${verifier.heading}, because ${verifier.probe[0]} is not installed.`);

  test.skipIf(!isRun)(
    `the program for ${verifier.heading} accepts correctly signed requests and rejects all others`,
    async () => {
      const directory = await mkdtemp(join(tmpdir(), 'tollgate-verifier-'));
      try {
        await writeVerifier(verifier, directory);
        const verdicts = runVerifier(
          verifier,
          directory,
          cases.map(({ request }) => request),
        );
        expect(Object.fromEntries(cases.map(({ name }, index) => [name, verdicts[index]]))).toEqual(
          Object.fromEntries(cases.map(({ name, verdict }) => [name, verdict])),
        );
      } finally {
        await rm(directory, { recursive: true, force: true });
      }
    },
  );
}
