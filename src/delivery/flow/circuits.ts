/** How many failures in a row open the circuit. */
const FAILURES_TO_OPEN = 5;
const MIN_OPEN_SECONDS = 5;
const MAX_OPEN_SECONDS = 60;
/** Manual deliveries are sent even while the circuit is open, up to this many at the same time. */
const MANUAL_SLOTS = 4;
const MAX_REMEMBERED = 5_000;
/** A destination without deliveries for this long is forgotten, because it may have been deleted. */
const FORGET_MILLISECONDS = 10 * 60_000;

type Circuit = { failures: number; openSeconds: number; openUntil: number };

/**
 * A circuit breaker per destination. It opens after several failures in a row. While it is open, deliveries stay in the
 * queue and cost nothing. Then it becomes half open and lets one delivery through. A success closes it; a failure opens
 * it for twice as long, up to a minute. Each process has its own breaker and shares its state through the destination's
 * `circuitOpenUntil`.
 *
 * @param now returns the time of a monotonic clock, in milliseconds.
 */
export function createCircuits(now: () => number = () => performance.now()) {
  const circuits = new Map<string, Circuit>();

  const isBroken = (circuit: Circuit | undefined): circuit is Circuit => (circuit?.failures ?? 0) >= FAILURES_TO_OPEN;

  function circuitOf(id: string): Circuit {
    const known = circuits.get(id);
    if (known) return known;
    // Forgetting a circuit only costs a few attempts until it opens again.
    if (circuits.size >= MAX_REMEMBERED) circuits.clear();
    const circuit = { failures: 0, openSeconds: 0, openUntil: 0 };
    circuits.set(id, circuit);
    return circuit;
  }

  return {
    /** Whether the circuit is open or half open. */
    isBroken: (id: string): boolean => isBroken(circuits.get(id)),

    brokenCount: (): number => [...circuits.values()].filter(isBroken).length,

    /** How many more seconds the circuit stays open; 0 when it is closed. */
    openSeconds(id: string): number {
      const circuit = circuits.get(id);
      return isBroken(circuit) ? Math.max((circuit.openUntil - now()) / 1000, 0) : 0;
    },

    /**
     * The maximum number of deliveries in flight to each broken destination. A negative number allows only manual
     * deliveries, up to that many.
     */
    slots(): Map<string, number> {
      for (const [id, { openUntil }] of circuits)
        if (openUntil > 0 && openUntil < now() - FORGET_MILLISECONDS) circuits.delete(id);
      const broken = [...circuits].filter(([, circuit]) => isBroken(circuit));
      return new Map(broken.map(([id, { openUntil }]) => [id, openUntil > now() ? -MANUAL_SLOTS : 1]));
    },

    onHealthy(id: string): void {
      circuits.delete(id);
    },

    onFailure(id: string): void {
      const circuit = circuitOf(id);
      circuit.failures++;
      // Failures of requests that were in flight when the circuit opened don't count.
      if (!isBroken(circuit) || circuit.openUntil > now()) return;
      circuit.openSeconds = Math.min(Math.max(circuit.openSeconds * 2, MIN_OPEN_SECONDS), MAX_OPEN_SECONDS);
      circuit.openUntil = now() + circuit.openSeconds * 1000;
    },

    /** Call this when another process has opened the circuit. */
    learn(id: string, openSeconds: number): void {
      if (openSeconds <= 0) return;
      const circuit = circuitOf(id);
      circuit.failures = Math.max(circuit.failures, FAILURES_TO_OPEN);
      circuit.openUntil = Math.max(circuit.openUntil, now() + Math.min(openSeconds, MAX_OPEN_SECONDS) * 1000);
    },
  };
}
