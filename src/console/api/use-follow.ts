import { useEffect, useEffectEvent, useState } from 'react';
import { useApi } from './client.ts';
import { type FollowOptions, type FollowState, type FollowVariables, follow } from './follow.ts';

/** Follows a subscription while the component is shown. */
export function useFollow<Data, Variables extends FollowVariables>(
  options: FollowOptions<Data, Variables>,
): FollowState {
  const { cursor, document, variables } = options;
  const { socket } = useApi();
  const [state, setState] = useState<FollowState>('connecting');
  const onData = useEffectEvent(options.onData);
  const onStart = useEffectEvent(options.onStart);
  // Every render creates a new object, so this compares the variables by value.
  const key = JSON.stringify(variables);
  useEffect(() => {
    setState('connecting');
    return follow(socket, {
      cursor,
      document,
      variables: JSON.parse(key),
      onData,
      onStart,
      onState: setState,
    });
  }, [socket, cursor, document, key]);
  return state;
}
