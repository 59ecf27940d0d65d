import { createCallSlots } from './payment/call-slots.ts';

/** A client has one such stream per session. Many clients can be behind one address. */
const MAX_PER_ADDRESS = 64;

export type NotificationStreams = ReturnType<typeof createNotificationStreams>;

/**
 * The streams on which MCP servers send notifications. They are free, and can be silent for minutes. Their number is
 * limited for each client address (for IPv6, a /64), account, and origin, so one client can't take all of the memory and
 * connections.
 */
export function createNotificationStreams(maxPerAddress: number = MAX_PER_ADDRESS) {
  const slots = createCallSlots(maxPerAddress);
  const open = new Set<() => void>();

  return {
    /**
     * Counts a stream until it is released.
     *
     * @param end ends the stream.
     * @returns undefined if no slot is left.
     */
    take(accountId: string, origin: string, address: string, end: () => void): (() => void) | undefined {
      const leave = slots.take(accountId, origin, address);
      if (!leave) return undefined;
      open.add(end);
      return () => {
        open.delete(end);
        leave();
      };
    },

    /** Ends all streams. Otherwise, a server that is stopping would wait for them. Clients connect again elsewhere. */
    endAll(): void {
      for (const end of open) end();
    },
  };
}
