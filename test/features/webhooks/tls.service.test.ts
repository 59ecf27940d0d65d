import { X509Certificate } from 'node:crypto';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import * as pki from '../../egress/authority.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { LARGE_EXPONENT_KEY, LARGE_KEY } from '../../support/large-key.ts';
import { createEndpoint, createProject, type Resource } from '../../support/resources.ts';

let app: TestApp;
let pool: pg.Pool;
let alice: TestUser;
let base: string;
let server: Server;
let url: string;
const clients: (string | undefined)[] = [];

const CLIENT = { certificate: pki.CLIENT_CERTIFICATE, privateKey: pki.CLIENT_KEY };
type Attempt = { errorClass: string | null; errorMessage: string | null };
const MASKED = { certificate: pki.CLIENT_CERTIFICATE, privateKey: '••••', expiresAt: expect.any(String) };

beforeAll(async () => {
  app = await startTestApp({ delivery: { retryScheduleSeconds: [] } });
  pool = new pg.Pool({ connectionString: app.databaseUrl });
  alice = await app.user('alice', 'ENTERPRISE');
});
afterAll(async () => {
  await pool?.end();
  await app?.stop();
});
beforeEach(async () => {
  ({ base } = await createProject(alice));
  clients.length = 0;
});
afterEach(() => new Promise((resolve) => server.close(resolve).closeAllConnections()));

/** Starts a receiver whose certificate comes from a private authority. */
async function listen(options: { requestCert?: boolean; maxVersion?: 'TLSv1.2' | 'TLSv1.3' } = {}): Promise<void> {
  const { SERVER_CERTIFICATE: cert, SERVER_KEY: key, AUTHORITY: ca } = pki;
  server = createServer({ cert, key, ca, rejectUnauthorized: true, ...options }, (request, response) => {
    clients.push((request.socket as import('node:tls').TLSSocket).getPeerCertificate().subject?.CN as string);
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
}

const create = (fields: object) =>
  alice.rest<Resource>('POST', `${base}/webhooks`, { url, eventTypes: ['endpoint.created'], ...fields });

/** Creates a webhook, and returns the first attempt of its first delivery. */
async function attemptOf(fields: object) {
  const { body: webhook, status } = await create(fields);
  expect(status, JSON.stringify(webhook)).toBe(201);
  await createEndpoint(alice, base);
  const path = `${base}/deliveries?webhookId=${webhook.id}`;
  const first = async () => (await alice.rest<{ data: Resource[] }>('GET', path)).body.data[0];
  await expect.poll(async () => (await first())?.status).toMatch(/SUCCEEDED|FAILED/);
  const delivery = `${base}/deliveries/${(await first())!.id}`;
  const { body } = await alice.rest<{ attempts: Attempt[] }>('GET', delivery);
  const { body: explanation } = await alice.rest<{ advice: string | null }>('GET', `${delivery}/explain`);
  return { ...body.attempts[0]!, advice: explanation.advice };
}

describe('a receiver whose certificate comes from a private authority', () => {
  beforeEach(() => listen());

  test('gets events if the webhook has the authority', async () => {
    expect(await attemptOf({ certificateAuthority: pki.AUTHORITY })).toMatchObject({ errorClass: null });
    expect(clients).toHaveLength(1);
  });

  test('gets none without it, and the error says why', async () => {
    const { errorClass, errorMessage } = await attemptOf({});
    expect(errorClass).toBe('tls_error');
    expect(errorMessage).toContain("doesn't come from an authority that is trusted");
  });

  test('gets none if the webhook has another authority', async () => {
    expect(await attemptOf({ certificateAuthority: pki.STRANGER_CERTIFICATE })).toMatchObject({
      errorClass: 'tls_error',
    });
    expect(clients).toEqual([]);
  });
});

describe.each(['TLSv1.2', 'TLSv1.3'] as const)('a receiver that requires a client certificate (%s)', (maxVersion) => {
  beforeEach(() => listen({ requestCert: true, maxVersion }));

  test('gets events with the certificate', async () => {
    const fields = { certificateAuthority: pki.AUTHORITY, clientCertificate: CLIENT };
    expect(await attemptOf(fields)).toMatchObject({ errorClass: null });
    expect(clients).toEqual(['client.test']);
  });

  test('gets none without it, and the error names a client certificate', async () => {
    const { errorMessage, advice } = await attemptOf({ certificateAuthority: pki.AUTHORITY });
    expect(advice).toContain('requires a client certificate, set ');
    // With TLS 1.3, Node's server only closes the connection. Servers that send the alert get a different message.
    if (maxVersion === 'TLSv1.2') expect(errorMessage).toContain('client certificate');
    expect(clients).toEqual([]);
  });
});

describe('the fields', () => {
  beforeEach(() => listen());

  test('are returned with the private key masked, and stored encrypted', async () => {
    const fields = { certificateAuthority: pki.AUTHORITY, clientCertificate: CLIENT };
    const { body } = await create(fields);
    expect(body).toMatchObject({ certificateAuthority: pki.AUTHORITY, clientCertificate: MASKED });
    const { rows } = await pool.query('SELECT * FROM "Webhook" WHERE "id" = $1', [body.id]);
    const audit = await pool.query('SELECT * FROM "AuditEntry" WHERE "targetId" = $1', [body.id]);
    for (const stored of [rows, audit.rows])
      expect(JSON.stringify(stored)).not.toContain(pki.CLIENT_KEY.split('\n')[1]);
  });

  test('are in the audit log as fingerprints', async () => {
    const { body } = await create({ certificateAuthority: pki.AUTHORITY, clientCertificate: CLIENT });
    await alice.rest('PATCH', `${base}/webhooks/${body.id}`, { certificateAuthority: null });
    const { rows } = await pool.query(
      'SELECT "changes", "previous" FROM "AuditEntry" WHERE "targetId" = $1 ORDER BY "id"',
      [body.id],
    );
    const clientCertificate = new X509Certificate(CLIENT.certificate).fingerprint256;
    const certificateAuthority = new X509Certificate(pki.AUTHORITY).fingerprint256;
    expect(rows).toMatchObject([
      { changes: { clientCertificate, certificateAuthority } },
      { changes: { clientCertificate, certificateAuthority: null }, previous: { certificateAuthority } },
    ]);
  });

  test('keep a masked or omitted key, unless the URL changes', async () => {
    const { body } = await create({ clientCertificate: CLIENT });
    const path = `${base}/webhooks/${body.id}`;
    const { certificate } = CLIENT;
    for (const clientCertificate of [{ certificate }, { certificate, privateKey: '••••' }]) {
      expect((await alice.rest('PATCH', path, { clientCertificate })).status).toBe(200);
    }
    const moved = await alice.rest('PATCH', path, { url: `${url}/other` });
    expect(moved).toMatchObject({ status: 422, body: { errors: [{ pointer: '/clientCertificate/privateKey' }] } });
    const again = await alice.rest('PATCH', path, { url: `${url}/other`, clientCertificate: CLIENT });
    expect(again).toMatchObject({ status: 200, body: { clientCertificate: MASKED } });
    const removed = await alice.rest('PATCH', path, { clientCertificate: null, certificateAuthority: null });
    expect(removed.body).toMatchObject({ clientCertificate: null, certificateAuthority: null });
  });

  test.each([
    ['certificateAuthority', pki.AUTHORITY + pki.CLIENT_KEY, '/certificateAuthority', 'Remove the private key'],
    [
      'clientCertificate',
      { ...CLIENT, certificate: pki.CLIENT_CERTIFICATE + pki.CLIENT_KEY },
      '/clientCertificate/certificate',
      'Remove the private key',
    ],
    ['certificateAuthority', 'not PEM', '/certificateAuthority', 'PEM format'],
    [
      'clientCertificate',
      { certificate: pki.CLIENT_KEY, privateKey: pki.CLIENT_KEY },
      '/clientCertificate/certificate',
      'Remove the private key',
    ],
    [
      'clientCertificate',
      { certificate: pki.CLIENT_CERTIFICATE },
      '/clientCertificate/privateKey',
      'Send the private key',
    ],
    [
      'clientCertificate',
      { ...CLIENT, privateKey: pki.STRANGER_KEY },
      '/clientCertificate/privateKey',
      'belongs to another certificate',
    ],
    ['clientCertificate', { ...CLIENT, privateKey: 'secret' }, '/clientCertificate/privateKey', 'PEM format'],
    ['clientCertificate', { ...CLIENT, privateKey: LARGE_KEY }, '/clientCertificate/privateKey', 'at most 4,096 bits'],
    [
      'clientCertificate',
      { ...CLIENT, privateKey: LARGE_EXPONENT_KEY },
      '/clientCertificate/privateKey',
      'at most 4,096 bits, and a public exponent of at most 64 bits',
    ],
  ])('%s must be usable: %j', async (field, value, pointer, message) => {
    const { status, body } = await create({ [field]: value });
    expect({ status, body }).toMatchObject({
      status: 422,
      body: { errors: [{ pointer, message: expect.stringContaining(message) }] },
    });
  });
});
