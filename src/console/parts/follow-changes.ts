import type { FollowOptions, FollowState, FollowVariables } from '../api/follow.ts';
import { useFollow } from '../api/use-follow.ts';
import { useCollected } from './use-collected.ts';

const SETTLE_MILLISECONDS = 400;
/** In a busy project, something changes constantly, and the console's requests are rate limited. */
const SPACING_MILLISECONDS = 3_000;

/**
 * Calls `onChange` once the subscription is live, and then once per burst of its updates. For lists that are refetched rather
 * than patched.
 */
export function useChanges<Data, Variables extends FollowVariables>(
  options: Pick<FollowOptions<Data, Variables>, 'cursor' | 'document' | 'variables'> & {
    cursorOf(data: Data): string | undefined;
    onChange(): void;
  },
): FollowState {
  const { cursorOf, onChange, ...followed } = options;
  const notifySoon = useCollected(onChange, SETTLE_MILLISECONDS, SPACING_MILLISECONDS);
  return useFollow({
    ...followed,
    onData(data) {
      notifySoon();
      return cursorOf(data);
    },
    // The subscription doesn't send changes made between the page's own query and its cursor.
    onStart: notifySoon,
  });
}
