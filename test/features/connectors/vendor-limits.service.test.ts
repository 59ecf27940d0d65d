import { afterAll, beforeAll, expect, test } from 'vitest';
import { listConnectors } from '../../../src/connectors/types/registry.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';

type Type = { type: string; vendorLimit: object | null };

let app: TestApp;

beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app?.stop());

test("connector types include their vendor's limit over REST", async () => {
  const alice = await app.user('alice');
  const { body } = await alice.rest<{ data: Type[] }>('GET', '/api/connector-types');
  const limitOf = (name: string) => body.data.find(({ type }) => type === name)?.vendorLimit;
  expect(limitOf('telegram')).toEqual({
    ...{ count: 20, perSeconds: 60, burst: 3 },
    documentationUrl: 'https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this',
  });
  expect(limitOf('slack')).toMatchObject({ count: 1, perSeconds: 1, burst: 1 });
  expect(limitOf('email')).toBeNull();
  const declared = listConnectors().filter(({ vendorLimit }) => vendorLimit);
  expect(body.data.filter(({ vendorLimit }) => vendorLimit)).toHaveLength(declared.length);
});
