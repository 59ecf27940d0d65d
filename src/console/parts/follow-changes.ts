import type { TypedDocumentNode } from '@graphql-typed-document-node/core';
import { useEffect, useEffectEvent, useState } from 'react';
import { useApi } from '../api/client.ts';
import { type FollowState, follow } from '../api/follow.ts';

const SETTLE_MILLISECONDS = 400;

/**
 * Calls `onChange` once per burst of updates from a subscription. For lists that are refetched rather than patched.
 *
 * @param settleMilliseconds how long to collect updates into one call.
 * @param variables must be the same object until a value changes.
 */
export function useChanges<Data, Variables extends { after?: string | null | undefined }>(
  document: TypedDocumentNode<Data, Variables>,
  variables: Omit<Variables, 'after'>,
  cursorOf: (data: Data) => string | undefined,
  onChange: () => void,
  settleMilliseconds = SETTLE_MILLISECONDS,
): FollowState {
  const { socket } = useApi();
  const [state, setState] = useState<FollowState>('connecting');
  const notify = useEffectEvent(onChange);
  const readCursor = useEffectEvent(cursorOf);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const onData = (data: Data) => {
      timer ??= setTimeout(() => {
        timer = undefined;
        notify();
      }, settleMilliseconds);
      return readCursor(data);
    };
    const stop = follow(socket, { document, variables, onData, onState: setState });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [socket, document, variables, settleMilliseconds]);
  return state;
}
