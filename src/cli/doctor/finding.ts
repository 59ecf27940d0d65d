import type { Config } from '../../config/config.ts';
import type { Database } from '../../database/client.ts';
import type { Egress } from '../../egress/egress.ts';

/** A check's result. `advice` says what to do about it. */
export type Finding = { check: string; status: 'ok' | 'warning' | 'failed'; message: string; advice?: string };

/** What the checks examine: the service that this environment configures. */
export type Patient = Surroundings & { db: Database };
export type Surroundings = { config: Config; egress: Egress };

/** Creates a check's findings. */
export function findingsOf(check: string) {
  return {
    ok: (message: string): Finding => ({ check, status: 'ok', message }),
    warning: (message: string, advice: string): Finding => ({ check, status: 'warning', message, advice }),
    failed: (message: string, advice: string): Finding => ({ check, status: 'failed', message, advice }),
  };
}
