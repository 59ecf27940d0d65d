import type { Logger } from 'pino';
import type { Bus } from '../../../bus/bus.ts';
import type { Config } from '../../../config/config.ts';
import type { Database } from '../../../database/client.ts';
import type { Egress } from '../../../egress/egress.ts';
import { createTxtLookup } from '../../../egress/txt-lookup.ts';
import { USER_AGENT } from '../../../version.ts';
import { createHostChecker, type HostChecker } from './checks.ts';
import { createHostProver } from './proof.ts';

/**
 * Sets up the checks of custom hosts: workers run the checks that are due, and the API runs the checks that people
 * request.
 *
 * @param resources the resources that all roles share. `overrides.dnsServers` is for tests.
 */
export function openHostChecker(resources: {
  db: Database;
  bus: Bus;
  egress: Egress;
  config: Pick<Config, 'production'>;
  overrides: { dnsServers?: string[] };
  log: Logger;
}): HostChecker {
  const { db, bus, egress, config, overrides, log } = resources;
  const lookupTxt = createTxtLookup(overrides.dnsServers);
  const prover = createHostProver({ egress, lookupTxt, userAgent: USER_AGENT });
  return createHostChecker({ db, bus, prover, production: config.production, log });
}
