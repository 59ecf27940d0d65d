import type { Config } from '../../config/config.ts';
import type { Database } from '../../database/client.ts';
import type { EgressDoor } from '../../egress/egress.ts';

/** A check's result. `advice` says what to do about it. */
export type Finding = { check: string; status: 'ok' | 'warning' | 'failed'; message: string; advice?: string };

/** The service to examine, as configured by this environment. */
export type CheckContext = Surroundings & { db: Database };
export type Surroundings = { config: Config; egress: EgressDoor };

/** Creates a check's findings. */
export function findingsOf(check: string) {
  return {
    ok: (message: string): Finding => ({ check, status: 'ok', message }),
    warning: (message: string, advice: string): Finding => ({ check, status: 'warning', message, advice }),
    failed: (message: string, advice: string): Finding => ({ check, status: 'failed', message, advice }),
  };
}
