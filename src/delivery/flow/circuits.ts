/** Failures in a row after which a destination is left alone for a while. */
const FAILURES_TO_OPEN = 5;
const MIN_OPEN_SECONDS = 5;
const MAX_OPEN_SECONDS = 60;
/** What somebody asks for by hand goes to a destination that is left alone all the same, so many at once. */
const BY_HAND_SLOTS = 4;
const MAX_REMEMBERED = 5_000;

type Circuit = { failures: number; openSeconds: number; openUntil: number };

/**
 * A circuit breaker a destination. It opens after a run of failures: deliveries stay where they are in the queue, and cost
 * nothing. Then it is half open: one delivery is sent to see. A success closes it; a failure opens it for twice as long,
 * up to a minute. Each process has its own and tells the others through the subscriber's `circuitOpenUntil`.
 *
 * @param now milliseconds of a clock that never steps back.
 */
export function createCircuits(now: () => number = () => performance.now()) {
  const circuits = new Map<string, Circuit>();

  const isBroken = (circuit: Circuit | undefined): circuit is Circuit => (circuit?.failures ?? 0) >= FAILURES_TO_OPEN;

  function circuitOf(id: string): Circuit {
    const known = circuits.get(id);
    if (known) return known;
    // Bounded: forgetting one only costs some tries until it opens again.
    if (circuits.size >= MAX_REMEMBERED) circuits.clear();
    const circuit = { failures: 0, openSeconds: 0, openUntil: 0 };
    circuits.set(id, circuit);
    return circuit;
  }

  return {
    /** Whether it is open or half open. */
    isBroken: (id: string): boolean => isBroken(circuits.get(id)),

    brokenCount: (): number => [...circuits.values()].filter(isBroken).length,

    /** Seconds that it stays open; 0 when it is not. */
    openSeconds(id: string): number {
      const circuit = circuits.get(id);
      return isBroken(circuit) ? Math.max((circuit.openUntil - now()) / 1000, 0) : 0;
    },

    /** What each broken one may have in flight; negative where only what is asked for by hand goes through. */
    slots(): Map<string, number> {
      const broken = [...circuits].filter(([, circuit]) => isBroken(circuit));
      return new Map(broken.map(([id, { openUntil }]) => [id, openUntil > now() ? -BY_HAND_SLOTS : 1]));
    },

    onHealthy(id: string): void {
      circuits.delete(id);
    },

    onFailure(id: string): void {
      const circuit = circuitOf(id);
      circuit.failures++;
      // What was in flight when it opened fails too, and says nothing new.
      if (!isBroken(circuit) || circuit.openUntil > now()) return;
      circuit.openSeconds = Math.min(Math.max(circuit.openSeconds * 2, MIN_OPEN_SECONDS), MAX_OPEN_SECONDS);
      circuit.openUntil = now() + circuit.openSeconds * 1000;
    },

    /** Another process has found it broken. */
    learn(id: string, openSeconds: number): void {
      if (openSeconds <= 0) return;
      const circuit = circuitOf(id);
      circuit.failures = Math.max(circuit.failures, FAILURES_TO_OPEN);
      circuit.openUntil = Math.max(circuit.openUntil, now() + Math.min(openSeconds, MAX_OPEN_SECONDS) * 1000);
    },
  };
}
