import type { Logger } from 'pino';
import type { Bus } from '../bus/bus.ts';
import type { Config } from '../config/config.ts';
import type { Database } from '../database/client.ts';
import type { Egress, EgressDoor } from '../egress/egress.ts';
import type { EventService } from '../features/events/service.ts';
import type { TrustedProxies } from '../http/client-address.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Keyring } from '../secrets/keyring.ts';
import type { SecretBox } from '../secrets/secret-box.ts';
import type { Hold } from './hold.ts';
import type { Overrides } from './overrides.ts';

/** The resources that all roles share. A process opens them once, no matter which roles it has. */
export type AppResources = {
  config: Config;
  log: Logger;
  db: Database;
  bus: Bus;
  keyring: Keyring;
  secretBox: SecretBox;
  egress: Egress;
  /** For the URLs in the configuration. Sellers' URLs must never go through it. */
  serviceEgress: EgressDoor;
  events: EventService;
  metrics: Metrics;
  hold: Hold;
  proxies: TrustedProxies;
  overrides: Overrides;
  /** Registers something to close at shutdown. The last one registered closes first. */
  onClose: (close: () => Promise<unknown> | unknown) => void;
};
