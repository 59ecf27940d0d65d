import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { createKey, createProject, EVERY_SCOPE, GOOD, type Resource } from '../support/resources.ts';

type Problem = { code: string; errors: { pointer: string; detail?: string }[] };

let app: TestApp;
let person: TestUser;
let program: TestUser;
let base: string;

beforeAll(async () => {
  app = await startTestApp();
  person = await app.user('alice', 'ENTERPRISE');
  ({ base } = await createProject(person));
  program = app.caller((await createKey(person, base, EVERY_SCOPE)).key);
});
afterAll(() => app?.stop());

describe.each([
  {
    kind: 'endpoints',
    field: 'upstreamUrl',
    url: 'https://api.example.com/v1/key-7f3a/:city?key=yours&units=metric',
    masked: 'https://api.example.com/v1/••••/••••?key=••••&units=••••',
    rest: () => ({ path: `/w${Math.random().toString(36).slice(2)}/:city`, priceUsd: '0.01' }),
  },
  {
    kind: 'webhooks',
    field: 'url',
    url: 'https://hooks.example.com/services/T0000/B0000/abcdef?token=yours',
    masked: 'https://hooks.example.com/services/••••/••••/••••?token=••••',
    rest: () => ({ eventTypes: ['*'] }),
  },
])('the URL of $kind', ({ kind, field, url, masked, rest }) => {
  const urlOf = async (who: TestUser, id: string) =>
    (await who.rest<Resource>('GET', `${base}/${kind}/${id}`)).body[field];
  const create = async (who: TestUser = person) => {
    const { status, body } = await who.rest<Resource>('POST', `${base}/${kind}`, { ...rest(), [field]: url });
    expect(status).toBe(201);
    return body;
  };
  const patch = (who: TestUser, id: string, value: string) =>
    who.rest<Resource & Problem>('PATCH', `${base}/${kind}/${id}`, { [field]: value, description: value });

  test('is shown to users in full and to API keys masked, no matter who set it', async () => {
    expect(await create()).toMatchObject({ [field]: url });
    const { id, [field]: answered } = await create(program);
    expect(answered).toBe(masked);
    expect(await urlOf(program, id)).toBe(masked);
    expect(await urlOf(person, id)).toBe(url);
    const list = await program.rest<{ data: Resource[] }>('GET', `${base}/${kind}`);
    expect(new Set(list.body.data.map((each) => each[field]))).toEqual(new Set([masked]));
  });

  test.each([
    ['as shown', masked],
    ['as a URL parser formats it', new URL(masked).href],
    ['in full', url],
  ])('stays the same when it is sent back %s together with other changes', async (_how, value) => {
    const { id } = await create();
    for (const who of [program, person]) {
      const response = await patch(who, id, value);
      expect(response).toMatchObject({ status: 200, body: { description: value } });
      expect(await urlOf(person, id)).toBe(url);
    }
  });

  test('is rejected if it contains a mask that does not match the stored URL', async () => {
    const { id } = await create();
    const wrong = [
      masked.replace('example.com', 'example.org'),
      masked.replace('••••', 'known'),
      `${masked}&more=1`,
      url.replace('yours', '••••'),
      'https://api.example.com/•',
      new URL(masked.replace('example.com', 'example.org')).href,
    ];
    for (const who of [program, person]) {
      for (const value of wrong) {
        const refused = await patch(who, id, value);
        expect(refused, value).toMatchObject({ status: 422, body: { errors: [{ pointer: `/${field}` }] } });
        const made = await who.rest('POST', `${base}/${kind}`, { ...rest(), [field]: value });
        expect(made, value).toMatchObject({ status: 422, body: { errors: [{ pointer: `/${field}` }] } });
      }
    }
    expect(await person.rest('GET', `${base}/${kind}/${id}`)).toMatchObject({
      body: { [field]: url, description: null },
    });
  });

  test('can be replaced with another one', async () => {
    const { id } = await create();
    const other = url.replace('yours', 'mine');
    expect(await patch(program, id, other)).toMatchObject({ status: 200, body: { [field]: masked } });
    expect(await urlOf(person, id)).toBe(other);
  });
});

describe('the audit log', () => {
  type Entry = { action: string; changes: object; previous: object | null };
  const log = async () => (await person.rest<{ data: Entry[] }>('GET', `${base}/audit-log`)).body.data;

  test('has the old and the new values of a change, with URLs masked', async () => {
    const { body } = await person.rest<Resource>('POST', `${base}/endpoints`, { ...GOOD.endpoint, path: '/audited' });
    expect((await log())[0]).toMatchObject({
      action: 'endpoint.created',
      changes: { path: '/audited', upstreamUrl: 'https://api.example.com/weather', priceUsd: '0.01', isActive: true },
      previous: null,
    });
    const path = `${base}/endpoints/${body.id}`;
    const changes = { priceUsd: '0.020', upstreamUrl: 'https://api.example.com/weather?key=1', isActive: true };
    await person.rest('PATCH', path, changes);
    expect((await log())[0]).toMatchObject({
      changes: { priceUsd: '0.02', upstreamUrl: 'https://api.example.com/weather?key=••••' },
      previous: { priceUsd: '0.01', upstreamUrl: 'https://api.example.com/weather' },
    });
    await person.rest('PATCH', path, { upstreamUrl: 'https://api.example.com/weather?key=2' });
    const shown = { upstreamUrl: 'https://api.example.com/weather?key=••••' };
    expect((await log())[0]).toMatchObject({ changes: shown, previous: shown });
  });

  test('has an entry without values for a change that changes nothing', async () => {
    const webhook = await person.rest<Resource>('POST', `${base}/webhooks`, GOOD.webhook);
    await person.rest('PATCH', `${base}/webhooks/${webhook.body.id}`, { url: GOOD.webhook.url });
    expect((await log())[0]).toMatchObject({ action: 'webhook.updated', changes: {}, previous: {} });
  });
});
