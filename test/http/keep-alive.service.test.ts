import { expect, test } from 'vitest';
import { startTestApp } from '../support/app.ts';

/** docs/deployment.md tells load balancers to close connections that are idle for so long. */
const LOAD_BALANCER_SECONDS = 85;

test('idle connections are closed by the load balancer and not by the service, which may be sent a request just then', async () => {
  const app = await startTestApp();
  const { headers } = await fetch(`${app.url}/healthz`);
  expect(Number(/timeout=(\d+)/.exec(headers.get('keep-alive') ?? '')?.[1])).toBeGreaterThan(LOAD_BALANCER_SECONDS);
  await app.stop();
});
