import { Badge } from '@mantine/core';
import type { FollowState } from '../api/follow.ts';

const LOOKS: Readonly<Record<FollowState | 'paused', { color: string; text: string }>> = {
  connecting: { color: 'gray', text: 'Connecting' },
  live: { color: 'teal', text: 'Live' },
  offline: { color: 'yellow', text: 'Reconnecting' },
  paused: { color: 'gray', text: 'Paused' },
  failed: { color: 'red', text: 'Offline' },
};

/** Whether the page updates automatically. */
export function LiveBadge({ state }: { state: FollowState | 'paused' }) {
  const { color, text } = LOOKS[state];
  return (
    <Badge color={color} variant="dot" role="status">
      {text}
    </Badge>
  );
}
