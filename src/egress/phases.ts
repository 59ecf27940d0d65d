/** What the parts of a request took, in milliseconds. Null where there was none, or where it did not come so far. */
export type Phases = {
  /** Resolving the name; of a shared resolution, the wait for it. */
  dnsMs: number | null;
  /** Opening the TCP connection, or failing to. */
  connectMs: number | null;
  /** The TLS handshake, or its failure. */
  tlsMs: number | null;
  /** From sending the request to the first byte of the answer. */
  firstByteMs: number | null;
};

/** Of a request on a connection that was open already, and of one that was not sent. */
export const NO_PHASES: Phases = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null };

const byError = new WeakMap<Error, Phases>();
let opened: Phases | undefined;

/**
 * Hands a new connection to undici, which sends the first request on it before this returns: that request is the one
 * that waited for it, and learns by `takeOpened` what opening it took.
 */
export function handOver(phases: Phases, give: () => void): void {
  opened = phases;
  give();
  opened = undefined;
}

/** What it took to open the connection of the request that starts now; undefined when it was open already. */
export function takeOpened(): Phases | undefined {
  const taken = opened;
  opened = undefined;
  return taken;
}

/** Notes how far a request came that ends with this error. */
export function noteFailure(error: Error, phases: Phases): void {
  byError.set(error, phases);
}

/** How far the request came that ended with this error. */
export function phasesOf(error: unknown): Phases {
  return (error instanceof Error && byError.get(error)) || NO_PHASES;
}

/** The sum of each phase, of calls made one after the other. */
export function addPhases(first: Phases, second: Phases): Phases {
  const add = (one: number | null, other: number | null) => (one === null ? other : one + (other ?? 0));
  return {
    dnsMs: add(first.dnsMs, second.dnsMs),
    connectMs: add(first.connectMs, second.connectMs),
    tlsMs: add(first.tlsMs, second.tlsMs),
    firstByteMs: add(first.firstByteMs, second.firstByteMs),
  };
}

/** Measures the opening of one connection. */
export function watchOpening() {
  const phases: Phases = { ...NO_PHASES };
  let since = performance.now();

  return {
    phases,
    /** What ran until now was this phase. */
    end(phase: 'dnsMs' | 'connectMs' | 'tlsMs'): void {
      const now = performance.now();
      phases[phase] = (phases[phase] ?? 0) + Math.round(now - since);
      since = now;
    },
  };
}
