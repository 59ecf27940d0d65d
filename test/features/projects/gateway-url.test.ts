import { expect, test } from 'vitest';
import { defaultHostOf, gatewayUrlOf } from '../../../src/features/projects/gateway-url.ts';

const shop = { id: 'proj_1', slug: 'shop', gatewayHost: 'api.shop.com' };
const known = { publicUrl: 'https://tollgate.dev:8443/base', gatewayDomain: 'pay.com' };
const unknown = { publicUrl: undefined, gatewayDomain: undefined };

test.each([
  ['its custom domain', shop, known, 'https://api.shop.com:8443'],
  ['its default domain', { ...shop, gatewayHost: null }, known, 'https://shop.pay.com:8443'],
  ['the service', { ...shop, gatewayHost: null, slug: null }, known, 'https://tollgate.dev:8443/base/gateway/proj_1'],
  [
    'the service',
    { ...shop, gatewayHost: null },
    { ...known, gatewayDomain: undefined },
    'https://tollgate.dev:8443/base/gateway/proj_1',
  ],
  ['its custom domain, if the service is unknown', shop, unknown, 'https://api.shop.com'],
  ['nothing, if the service is unknown', { ...shop, gatewayHost: null }, unknown, null],
])('the URL of a project uses %s', (_where, project, addresses, url) => {
  expect(gatewayUrlOf(project, addresses)).toBe(url);
});

test('a project has no default domain without a slug or a gateway domain', () => {
  expect(defaultHostOf(shop, known)).toBe('shop.pay.com');
  expect(defaultHostOf({ slug: null }, known)).toBeNull();
  expect(defaultHostOf(shop, unknown)).toBeNull();
});
