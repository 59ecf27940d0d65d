import type { Queryable } from '../../database/client.ts';
import { END_TURN, TAKE_TURN, turnKeyOf } from './slot-statements.ts';

/**
 * Ensures that the requests to a destination run one at a time, across all processes. If a process is killed, its turn
 * expires. A process that was suspended for too long can't end another process's turn.
 */
export function createTurns(db: Queryable) {
  /** When this process's turns expire, by the database's clock. */
  const held = new Map<string, string>();

  async function end(id: string): Promise<void> {
    const endsAt = held.get(id);
    held.delete(id);
    await db.query({ name: 'delivery_end_turn', text: END_TURN, values: [turnKeyOf(id), endsAt] });
  }

  return {
    /**
     * Takes the destination's turn, unless a process already has it.
     *
     * @param seconds the maximum duration of the request.
     */
    async take(id: string, seconds: number): Promise<boolean> {
      const values = [turnKeyOf(id), seconds];
      const { rows } = await db.query<{ endsAt: string }>({ name: 'delivery_take_turn', text: TAKE_TURN, values });
      if (rows[0]) held.set(id, rows[0].endsAt);
      return rows.length > 0;
    },

    /** Ends this process's turn. */
    end,

    async endAll(): Promise<void> {
      await Promise.all([...held.keys()].map(end));
    },
  };
}
