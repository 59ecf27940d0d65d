import type { TypedDocumentNode } from '@graphql-typed-document-node/core';
import { useEffect, useEffectEvent, useState } from 'react';
import { useApi } from './client.ts';
import { type FollowState, follow } from './follow.ts';

/**
 * Follows a subscription while the component is shown.
 *
 * @param onData handles an update and returns its cursor.
 * @param onLive is called each time the connection is established. Use it to fetch earlier changes with a query.
 */
export function useFollow<Data, Variables extends { after?: string | null | undefined }>(options: {
  document: TypedDocumentNode<Data, Variables>;
  variables: Omit<Variables, 'after'>;
  onData(data: Data): string | undefined;
  onLive(): void;
}): FollowState {
  const { document, variables } = options;
  const { socket } = useApi();
  const [state, setState] = useState<FollowState>('connecting');
  const onData = useEffectEvent(options.onData);
  const onState = useEffectEvent((next: FollowState) => {
    if (next === 'live' && state !== 'live') options.onLive();
    setState(next);
  });
  // Every render creates a new object, so this compares the variables by value.
  const key = JSON.stringify(variables);
  useEffect(() => {
    setState('connecting');
    return follow(socket, { document, variables: JSON.parse(key), onData, onState });
  }, [socket, document, key]);
  return state;
}
