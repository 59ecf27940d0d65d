import { expect, test } from 'vitest';
import { startTestApp } from '../support/app.ts';

/** docs/deployment.md tells load balancers to close connections after this idle time. */
const LOAD_BALANCER_SECONDS = 85;

test('the service keeps idle connections longer than load balancers do, so it never closes one during a request', async () => {
  const app = await startTestApp();
  const { headers } = await fetch(`${app.url}/healthz`);
  expect(Number(/timeout=(\d+)/.exec(headers.get('keep-alive') ?? '')?.[1])).toBeGreaterThan(LOAD_BALANCER_SECONDS);
  await app.stop();
});
