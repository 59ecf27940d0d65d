import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import ipaddr from 'ipaddr.js';
import { load } from 'js-yaml';
import { expect, test } from 'vitest';
import { parseProjectAllow } from '../../src/config/project-allow.ts';
import { VARIABLES } from '../../src/config/variables.ts';
import { parseEgressAllow } from '../../src/egress/allow-list.ts';
import { createUpstreamUrls } from '../../src/features/urls/project-url.ts';
import { ROOT } from './pages.ts';

type Example = {
  services: { orders: { networks: { default: { ipv4_address: string } } } };
  networks: { default: { ipam: { config: [{ subnet: string; ip_range: string }] } } };
};

/** Settings that compose.yaml sets itself or leaves at their defaults. */
const OF_THE_PROCESS = [
  ...['NODE_ENV', 'PORT', 'HOST', 'DATA_DIR', 'ROLES', 'SANDBOX'],
  ...['DATABASE_URL', 'DATABASE_DIRECT_URL'],
];

const compose = await readFile(join(ROOT, 'compose.yaml'), 'utf8');

test('every setting in .env reaches the containers', () => {
  const handedOn = Array.from(compose.matchAll(/^ {2}([A-Z_]+): \$\{\1:/gm), ([, name]) => name);
  const wanted = Object.keys(VARIABLES).filter((name) => !OF_THE_PROCESS.includes(name));
  expect(handedOn.toSorted()).toEqual(wanted.toSorted());
});

test('the example of an API next to the gateway can be uncommented, and the gateway can then call it by its name', () => {
  // Sentences have no indentation that YAML could have.
  const uncommented = compose.replaceAll(/^( *)# (orders:| {2}.*|networks:)$/gm, '$1$2').replaceAll(/^ *#.*\n/gm, '');
  const { services, networks } = load(uncommented) as Example;
  const { ipv4_address: address } = services.orders.networks.default;
  const [{ subnet, ip_range }] = networks.default.ipam.config;
  const isIn = (range: string) => ipaddr.IPv4.parse(address).match(ipaddr.IPv4.parseCIDR(range));
  // Otherwise, another container could get the address, and with it the requests and their credentials.
  expect([isIn(subnet), isIn(ip_range)]).toEqual([true, false]);
  expect(ipaddr.IPv4.parseCIDR(subnet)).toSatisfy((range: [ipaddr.IPv4, number]) =>
    ipaddr.IPv4.parseCIDR(ip_range)[0].match(range),
  );

  const [, allow] = /UPSTREAM_ALLOW=(\S+) in \.env/.exec(compose)!;
  const [, url] = /start with (http:\S+)\.$/m.exec(compose)!;
  expect(allow).toBe(`${address}/32:${new URL(url!).port}`);
  const upstreams = parseProjectAllow(allow!, parseEgressAllow(''));
  expect(createUpstreamUrls(upstreams).input.safeParse(url).success).toBe(true);
  expect(upstreams.any.permits(address, Number(new URL(url!).port))).toBe(true);
});
