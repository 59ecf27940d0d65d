import { setTimeout as sleep } from 'node:timers/promises';
import { createMember, type Found, type Member, type MemberOptions } from './member.ts';
import { roughBytes } from './prefetch.ts';
import type { Progress } from './progress.ts';
import type { Present } from './read-changes.ts';
import { createRetryingReader } from './retrying-reader.ts';
import { type TailOptions, tail } from './tail.ts';

/** Follows a table once for all viewers who may read the same rows. */
export type Follower<Row, Item> = {
  /**
   * Starts collecting new rows for a member. Every row is either collected, or visible to reads that start after the
   * promise resolves.
   */
  join(options: MemberOptions<Row>): Promise<Member<Item>>;
};

export type FollowerOptions<Row, Item> = Omit<TailOptions<Row, Item>, 'start' | 'present' | 'prefetch'> & {
  /** Returns the progress of a follower that has seen every existing row. */
  present(): Promise<Progress>;
  /** Creates an item from a row and the progress to resume from after that row. All members share the item. */
  toItem(row: Row, progress: Progress): Item;
  /** Whether a row's last change can be ignored. For example, claiming a delivery isn't worth reporting. */
  isIgnorable(row: Row): boolean;
};

/**
 * Creates a follower. It reads the table while it has members, and passes each row to all of them at the same time. It
 * never waits for a member.
 *
 * @param onEnd called when the last member has left, or when reading has failed. Nobody can join it after that.
 */
export function createFollower<Row, Item>(
  { present, toItem, isIgnorable, ...table }: FollowerOptions<Row, Item>,
  onEnd: () => void,
): Follower<Row, Item> {
  const members = new Set<ReturnType<typeof createMember<Row, Item>>>();
  const stop = new AbortController();
  let started: Promise<void> | undefined;

  const toFound: Present<Row, Found<Row, Item>> = (row, progress, location) => ({
    row,
    progress,
    location,
    item: toItem(row, progress),
    bytes: roughBytes(row),
    isIgnorable: isIgnorable(row),
  });

  async function follow(progress: Progress): Promise<void> {
    try {
      for await (const found of tail({ ...table, start: progress, present: toFound }, stop.signal)) {
        for (const member of members) member.offer(found);
      }
    } catch (error) {
      onEnd();
      for (const member of members) member.fail(error);
    }
  }

  async function begin(): Promise<void> {
    const rest = () => sleep(table.pollMilliseconds, undefined, { signal: stop.signal }).catch(() => {});
    void follow(await createRetryingReader(rest, stop.signal).read(present));
  }

  return {
    async join(options) {
      const member = createMember<Row, Item>(options, () => {
        members.delete(member);
        if (members.size > 0) return;
        stop.abort();
        onEnd();
      });
      members.add(member);
      try {
        started ??= begin();
        await started;
      } catch (error) {
        member.leave();
        throw error;
      }
      return member;
    },
  };
}
