import type { Logger } from 'pino';
import { EgressError } from '../../egress/egress-error.ts';
import { addPhases, NO_PHASES, type Phases } from '../../egress/phases.ts';
import type { AttemptRecord, ClaimedDelivery, RecordedRequest } from '../model/claimed-delivery.ts';
import type { AttemptErrorClass } from '../model/error-classes.ts';
import type { NotReady } from './access-tokens.ts';
import type { Try } from './quick-tries.ts';

export type FailedTry = {
  startedAt: number;
  delivery: ClaimedDelivery;
  log: Logger;
  /** The request that was sent or would have been sent. */
  request?: RecordedRequest | undefined;
  /** Totals for the earlier calls that got a response. */
  durationMs?: number;
  phases?: Phases;
};

/**
 * An attempt without a response. A failure that isn't the network's fault is ours, so it is logged, and the attempt is
 * shown without details.
 */
export function failedTry(error: unknown, { startedAt, delivery, log, request, ...before }: FailedTry): Try {
  const isNetwork = error instanceof EgressError;
  if (!isNetwork) log.error({ err: error, deliveryId: delivery.id }, "couldn't send a delivery: internal error");
  const { durationMs = 0, phases = NO_PHASES } = before;
  const attempt: AttemptRecord = {
    startedAt,
    durationMs: isNetwork ? durationMs + error.durationMilliseconds : Math.round(delivery.databaseTime() - startedAt),
    statusCode: null,
    errorClass: isNetwork ? error.errorClass : ('internal' satisfies AttemptErrorClass),
    errorMessage: isNetwork ? error.message : 'Something went wrong on our side. The delivery will be retried.',
    responseBody: null,
    ...(isNetwork &&
      request && { exchange: { phases: addPhases(phases, error.phases), request, responseHeaders: null } }),
  };
  return { attempt, verdict: { kind: 'retry' } };
}

/** Nothing was sent, because there is no access token. */
export function withoutToken(result: NotReady, startedAt: number, endedAt: number): Try {
  if (result.kind === 'wait') return { verdict: result };
  const attempt: AttemptRecord = {
    startedAt,
    durationMs: Math.round(endedAt - startedAt),
    statusCode: null,
    errorClass: 'no_access_token' satisfies AttemptErrorClass,
    errorMessage: result.reason,
    responseBody: null,
  };
  return { attempt, verdict: result };
}
