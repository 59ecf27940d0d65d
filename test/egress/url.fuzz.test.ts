import fc from 'fast-check';
import { test } from 'vitest';
import { parseEgressAllow } from '../../src/egress/allow-list.ts';
import { checkTargetUrl } from '../../src/egress/url.ts';
import { addressIn, DENIED_IPV4, DENIED_IPV6, spellings } from './hostile-targets.ts';

const nothing = parseEgressAllow('');

/** The URLs that each address is inserted into. */
const FORMS = [
  (host: string) => `https://${host}/`,
  (host: string) => `https://${host}:8443/a`,
  (host: string) => `http://${host}:4010`,
];

test.each([...DENIED_IPV4, ...DENIED_IPV6])('checkTargetUrl rejects every spelling of addresses in %s', (cidr) => {
  fc.assert(
    fc.property(addressIn(cidr), fc.constantFrom(...FORMS), (address, form) =>
      spellings(address).every((host) => !checkTargetUrl(form(host), nothing).ok),
    ),
    { numRuns: 500 },
  );
});
