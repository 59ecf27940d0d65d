/** How long each phase of a request took, in milliseconds. A phase that was skipped or not reached is null. */
export type Phases = {
  /** Resolving the name, or waiting while another connection resolves it. */
  dnsMs: number | null;
  /** Opening the TCP connection, even if it failed. */
  connectMs: number | null;
  /** The TLS handshake, even if it failed. */
  tlsMs: number | null;
  /** From sending the request to the first byte of the response. */
  firstByteMs: number | null;
};

/** The phases of a request on an open connection, or of a request that wasn't sent. */
export const NO_PHASES: Phases = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null };

const byError = new WeakMap<Error, Phases>();
let opened: Phases | undefined;
let isHandingOver = false;

/**
 * Hands a new connection to undici, which sends the first request on it before this function returns. That request
 * waited for the connection, so `takeOpened` attributes the time spent opening the connection to it.
 */
export function handOver(phases: Phases, give: () => void): void {
  opened = phases;
  isHandingOver = true;
  give();
  opened = undefined;
  isHandingOver = false;
}

/** Whether the request that is now starting is the first one on its connection. */
export function isConnectionNew(): boolean {
  return isHandingOver;
}

/**
 * How long it took to open the connection for the request that is now starting. Undefined if the connection was already
 * open.
 */
export function takeOpened(): Phases | undefined {
  const taken = opened;
  opened = undefined;
  return taken;
}

/** Records how far a request got before it failed with this error. */
export function noteFailure(error: Error, phases: Phases): void {
  byError.set(error, phases);
}

/** How far a request got before it failed with this error. */
export function phasesOf(error: unknown): Phases {
  return (error instanceof Error && byError.get(error)) || NO_PHASES;
}

/** Adds up each phase of consecutive calls. */
export function addPhases(first: Phases, second: Phases): Phases {
  const add = (one: number | null, other: number | null) => (one === null ? other : one + (other ?? 0));
  return {
    dnsMs: add(first.dnsMs, second.dnsMs),
    connectMs: add(first.connectMs, second.connectMs),
    tlsMs: add(first.tlsMs, second.tlsMs),
    firstByteMs: add(first.firstByteMs, second.firstByteMs),
  };
}

/** Measures how long it takes to open one connection. */
export function watchOpening() {
  const phases: Phases = { ...NO_PHASES };
  let since = performance.now();

  return {
    phases,
    /** Ends the current phase. */
    end(phase: 'dnsMs' | 'connectMs' | 'tlsMs'): void {
      const now = performance.now();
      phases[phase] = (phases[phase] ?? 0) + Math.round(now - since);
      since = now;
    },
  };
}
