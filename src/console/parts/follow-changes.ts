import type { TypedDocumentNode } from '@graphql-typed-document-node/core';
import { useEffect, useEffectEvent, useState } from 'react';
import { useApi } from '../api/client.ts';
import { type FollowState, follow } from '../api/follow.ts';
import { useCollected } from './use-collected.ts';

const SETTLE_MILLISECONDS = 400;
/** In a busy project, something changes constantly, and the console's requests are rate limited. */
const SPACING_MILLISECONDS = 3_000;

/**
 * Calls `onChange` once the subscription is live, and then once per burst of its updates. For lists that are refetched rather
 * than patched.
 *
 * @param variables must be the same object until a value changes.
 */
export function useChanges<Data, Variables extends { after?: string | null | undefined }>(
  document: TypedDocumentNode<Data, Variables>,
  variables: Omit<Variables, 'after'>,
  cursorOf: (data: Data) => string | undefined,
  onChange: () => void,
): FollowState {
  const { socket } = useApi();
  const [state, setState] = useState<FollowState>('connecting');
  const notifySoon = useCollected(onChange, SETTLE_MILLISECONDS, SPACING_MILLISECONDS);
  const readCursor = useEffectEvent(cursorOf);
  useEffect(() => {
    let isFirst = true;
    const onData = (data: Data) => {
      notifySoon();
      return readCursor(data);
    };
    const onState = (next: FollowState) => {
      setState(next);
      // The subscription doesn't send changes made between the page's own query and now.
      if (next === 'live' && isFirst) notifySoon();
      isFirst &&= next !== 'live';
    };
    return follow(socket, { document, variables, onData, onState });
  }, [socket, document, variables, notifySoon]);
  return state;
}
