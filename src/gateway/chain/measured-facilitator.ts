import {
  FACILITATOR_REJECTED,
  type Facilitator,
  FacilitatorError,
  type FacilitatorOperation,
  type FacilitatorSettlement,
} from './facilitator.ts';

/** Called after every call with its outcome and duration. */
export type OnFacilitatorCall = (operation: FacilitatorOperation, outcome: CallOutcome, seconds: number) => void;

type CallOutcome = 'valid' | 'refused' | 'settled' | 'not_sent' | 'ambiguous' | 'error' | 'rejected';

const SETTLE_OUTCOMES = {
  settled: 'settled',
  refused: 'refused',
  notSent: 'not_sent',
  unavailable: 'ambiguous',
  ambiguous: 'ambiguous',
} as const satisfies Record<FacilitatorSettlement['kind'], CallOutcome>;

/** Wraps a facilitator to report its calls. */
export function measureFacilitator(facilitator: Facilitator, onCall: OnFacilitatorCall): Facilitator {
  async function measure<T>(
    operation: FacilitatorOperation,
    call: () => Promise<T>,
    outcomeOf: (result: T) => CallOutcome,
  ): Promise<T> {
    const startedAt = performance.now();
    let outcome: CallOutcome = 'error';
    try {
      const result = await call();
      outcome = outcomeOf(result);
      return result;
    } catch (error) {
      if (error instanceof FacilitatorError && error.reason === FACILITATOR_REJECTED) outcome = 'rejected';
      throw error;
    } finally {
      onCall(operation, outcome, (performance.now() - startedAt) / 1000);
    }
  }

  return {
    verify: (...args) =>
      measure(
        'verify',
        () => facilitator.verify(...args),
        ({ isValid }) => (isValid ? 'valid' : 'refused'),
      ),
    settle: (...args) =>
      measure(
        'settle',
        () => facilitator.settle(...args),
        (settlement) =>
          settlement.kind === 'refused' && settlement.reason === FACILITATOR_REJECTED
            ? 'rejected'
            : SETTLE_OUTCOMES[settlement.kind],
      ),
    supported: () => facilitator.supported(),
    probe: (operation) => facilitator.probe(operation),
  };
}
