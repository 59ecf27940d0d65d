import type { Logger } from 'pino';
import type { Bus } from '../bus/bus.ts';
import type { Config } from '../config/config.ts';
import type { Database } from '../database/client.ts';
import type { Egress } from '../egress/egress.ts';
import type { PayloadVersions } from '../events/versions.ts';
import type { EventService } from '../features/events/service.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Keyring } from '../secrets/keyring.ts';
import type { SecretBox } from '../secrets/secret-box.ts';

/** What every role stands on, whichever of them a process has. */
export type Ground = {
  config: Config;
  log: Logger;
  db: Database;
  bus: Bus;
  keyring: Keyring;
  secretBox: SecretBox;
  egress: Egress;
  events: EventService;
  metrics: Metrics;
  /** Versions of payloads in place of those there are; for tests alone. */
  payloadVersions?: PayloadVersions;
  /** Keeps what has to be ended, which is done in reverse order. */
  onClose: (close: () => Promise<unknown> | unknown) => void;
};
