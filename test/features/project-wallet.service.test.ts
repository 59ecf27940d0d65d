import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApp, type TestApp } from '../support/app.ts';

const WALLET = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045';
const OTHER = '0x1F98431c8aD98523631AE4a59f267346ea31F984';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app?.stop());

test('an API key may rename its project but not redirect its payments', async () => {
  const alice = await app.user('alice');
  const { body: project } = await alice.rest<{ id: string }>('POST', '/api/projects', {
    name: 'Shop',
    walletAddress: WALLET,
  });
  const { body: minted } = await alice.rest<{ key: string }>('POST', `/api/projects/${project.id}/keys`, {
    name: 'ci',
  });
  const key = app.caller(minted.key);

  const renamed = await key.rest('PATCH', `/api/projects/${project.id}`, { name: 'Store' });
  expect(renamed).toMatchObject({ status: 200, body: { name: 'Store', walletAddress: WALLET } });
  const redirected = await key.rest('PATCH', `/api/projects/${project.id}`, { name: 'Stolen', walletAddress: OTHER });
  expect(redirected).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
  const { errors } = await key.graphql(
    `mutation { updateProject(input: { id: "${project.id}", walletAddress: "${OTHER}" }) { project { id } } }`,
  );
  expect(errors![0]!.extensions.code).toBe('FORBIDDEN');
  const after = await alice.rest('GET', `/api/projects/${project.id}`);
  expect(after.body).toMatchObject({ name: 'Store', walletAddress: WALLET });
});
