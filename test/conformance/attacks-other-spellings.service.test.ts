import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { sign, v2Headers } from '../gateway/sign.ts';
import { createShop } from '../gateway/support.ts';
import { type AttackStage, openAttackStage } from './attack-stage.ts';

/** The paths that cost 1 USD. The API matches them leniently. */
const EXPENSIVE = /^\/(?:premium|reports\/[^/]+)$/;

let stage: AttackStage;
/** The URLs of two shops: in one, all other paths cost a tenth of a cent, and in the other, they are free. */
let shops: { paid: string; free: string };

beforeAll(async () => {
  const endpointsWith = (priceUsd: string) => ({
    '/premium': { priceUsd: '1' },
    '/Reports/:id': { priceUsd: '1' },
    '/same': { priceUsd },
    '/*': { priceUsd },
  });
  stage = await openAttackStage({ endpoints: endpointsWith('0.001') });
  const { app, seller, upstream } = stage;
  const endpoints = Object.entries(endpointsWith('0')).map(([path, fields]) => [
    path,
    { ...fields, upstreamUrl: upstream.url + path },
  ]);
  const free = await createShop(app, seller, Object.fromEntries(endpoints));
  shops = { paid: stage.urls[0]!, free: free.url };
  // Like Express, the API ignores case and a slash at the end. Like Tomcat, it drops path parameters.
  upstream.handle(({ path }) => {
    const [decoded = ''] = decodeURIComponent(path).split('?');
    const read = decoded
      .replace(/;[^/]*/g, '')
      .replace(/\/{2,}/g, '/')
      .replace(/\/$/, '')
      .toLowerCase();
    return { body: EXPENSIVE.test(read) ? 'worth a dollar' : 'worth a tenth of a cent' };
  });
});
beforeEach(() => {
  stage.upstream.requests.length = 0;
});
afterAll(() => stage?.close());

describe.each(['paid', 'free'] as const)('a cheaper catch-all route that is %s', (kind) => {
  /** Requests a path, with a payment for the cheaper route. */
  async function request(path: string) {
    const buyer = await stage.rails.wallet(1_000n);
    const response = await fetch(shops[kind] + path, { headers: v2Headers(await sign(buyer, { value: '1000' })) });
    const text = await response.text();
    return { status: response.status, text, paid: 1_000n - (await stage.rails.chain.balanceOf(buyer.address)) };
  }

  test.each([
    ['/PREMIUM', '/premium'],
    ['/premium;x', '/premium'],
    ['/%50remium', '/premium'],
    ['/premium%3Bx', '/premium'],
    ['/;x/Premium;y=1/', '/premium'],
    ['/reports/7', '/Reports/:id'],
    ['/reports/7/?a=1', '/Reports/:id'],
  ])("doesn't serve another spelling of a more expensive path: %s", async (path, endpoint) => {
    const { status, text, paid } = await request(path);
    expect(text).not.toContain('worth');
    expect([status, paid, stage.upstream.requests.length]).toEqual([404, 0n, 0]);
    expect(JSON.parse(text)).toMatchObject({ code: 'NOT_FOUND', detail: expect.stringContaining(`"${endpoint}"`) });
  });

  test.each(['/premium/', '/Reports/7/?a=1'])(
    'sells a more expensive path with a trailing slash only at its own price: %s',
    async (path) => {
      const { status, text, paid } = await request(path);
      expect([status, paid, stage.upstream.requests.length]).toEqual([402, 0n, 0]);
      expect(text).not.toContain('worth');
      const buyer = await stage.rails.wallet(1_000_000n);
      const response = await fetch(shops[kind] + path, { headers: v2Headers(await sign(buyer, { value: '1000000' })) });
      expect([response.status, await response.text()]).toEqual([200, 'worth a dollar']);
      expect(await stage.rails.chain.balanceOf(buyer.address)).toBe(0n);
    },
  );

  test.each(['/Other/', '/premium/x', '/premiums', '/SAME;x/'])('still serves other paths: %s', async (path) => {
    const { status, text, paid } = await request(path);
    expect([status, text, paid]).toEqual([200, 'worth a tenth of a cent', kind === 'free' ? 0n : 1_000n]);
    expect(stage.upstream.requests.map((received) => received.path)).toEqual([path]);
  });

  test('leaves the more expensive path at its own price', async () => {
    expect((await request('/premium')).status).toBe(402);
    const buyer = await stage.rails.wallet(1_000_000n);
    const headers = v2Headers(await sign(buyer, { value: '1000000' }));
    const response = await fetch(`${shops[kind]}/premium`, { headers });
    expect([response.status, await response.text()]).toEqual([200, 'worth a dollar']);
  });
});
