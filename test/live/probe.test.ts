import { test } from 'vitest';
import { countStreams } from '../graphql/numbers.ts';
import { startTestApp } from '../support/app.ts';

test('x', async () => {
  const app = await startTestApp({ env: { ROLES: 'api' } });
  const alice = await app.user('alice', 'ENTERPRISE');
  const { body } = await alice.rest<{ id: string }>('POST', '/api/projects', {
    name: 'Shop',
    walletAddress: '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045',
  });
  const r = await fetch(`${app.url}/graphql`, {
    method: 'POST',
    headers: {
      accept: 'text/event-stream',
      'content-type': 'application/json',
      authorization: `Bearer ${alice.token}`,
    },
    body: JSON.stringify({ query: `subscription { eventRecorded(projectId: "${body.id}") { cursor } }` }),
  });
  console.log(r.status);
  await alice.rest('POST', `/api/projects/${body.id}/endpoints`, {
    path: `/path`,
    upstreamUrl: 'https://api.example.com',
    priceUsd: '0.01',
  });
  const reader = r.body!.getReader();
  for (let i = 0; i < 6; i++) {
    const { value } = await reader.read();
    console.log(JSON.stringify(new TextDecoder().decode(value)));
  }
  await reader.cancel();
  console.log('cancelled');
  await new Promise((r) => setTimeout(r, 1000));
  console.log(await countStreams(app));
  await app.stop();
});
