import type { EgressRequest } from '../../src/egress/exchange.ts';

/** Long enough for hundreds of simultaneous requests on a busy machine. */
const PATIENT_MILLISECONDS = 120_000;

/**
 * Waits longer for responses than the service does, for tests about something else. What they expect must not depend on
 * how fast the test's own facilitator and node are.
 */
export const patient = <Door extends { send(request: EgressRequest): Promise<unknown> }>(door: Door): Door => ({
  ...door,
  send: (request: EgressRequest) => door.send({ ...request, timeoutMilliseconds: PATIENT_MILLISECONDS }),
});
