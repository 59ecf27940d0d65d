import { sourceOf } from './failed-credentials.ts';

/** Limits connections whose client hasn't authenticated yet. */
export type UnauthenticatedConnections = {
  /**
   * Reserves a slot. If all slots are taken, the connection that has waited longest loses its slot.
   *
   * @param evict ends the connection. Called if it loses its slot.
   * @returns a function that releases the slot, or undefined if the address has none left.
   */
  enter(address: string, evict: () => void): (() => void) | undefined;
};

const UNAUTHENTICATED_LIMITS = {
  /** Per IP address (for IPv6, per /64). A slot is free again as soon as its client has authenticated. */
  perAddress: 100,
  total: 1_000,
} as const;

/**
 * Keeps the number of unauthenticated connections small, per address and in total. If the total is reached, new
 * connections replace the oldest ones, because most clients authenticate soon, and the others can connect again.
 */
export function createUnauthenticatedConnections(
  limits: { perAddress: number; total: number } = UNAUTHENTICATED_LIMITS,
): UnauthenticatedConnections {
  /** In order of arrival. */
  const present = new Set<{ evict(): void; leave(): void }>();
  const bySource = new Map<string, number>();

  return {
    enter(address, evict) {
      const source = sourceOf(address);
      if ((bySource.get(source) ?? 0) >= limits.perAddress) return undefined;
      const leave = () => {
        if (!present.delete(connection)) return;
        const left = bySource.get(source)! - 1;
        if (left > 0) bySource.set(source, left);
        else bySource.delete(source);
      };
      const connection = { evict, leave };
      present.add(connection);
      bySource.set(source, (bySource.get(source) ?? 0) + 1);
      if (present.size > limits.total) {
        const [oldest] = present;
        oldest!.leave();
        oldest!.evict();
      }
      return leave;
    },
  };
}
