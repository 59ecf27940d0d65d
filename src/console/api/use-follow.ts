import type { TypedDocumentNode } from '@graphql-typed-document-node/core';
import { useEffect, useEffectEvent, useState } from 'react';
import { useApi } from './client.ts';
import { type FollowState, follow } from './follow.ts';

/**
 * Follows a subscription while the component is shown.
 *
 * @param onData takes what has arrived and returns its cursor.
 * @param onLive is called whenever the connection stands: what had happened before it is for a query to fetch.
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
  // Variables are made anew at every render; what they say decides.
  const key = JSON.stringify(variables);
  useEffect(() => {
    setState('connecting');
    return follow(socket, { document, variables: JSON.parse(key), onData, onState });
  }, [socket, document, key]);
  return state;
}
