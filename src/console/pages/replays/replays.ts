import { useState } from 'react';
import { useQuery } from 'urql';
import { FollowReplaysDocument, type ReplayRowFragment, ReplaysDocument } from '../../../generated/console/replays.ts';
import { useFollow } from '../../api/use-follow.ts';

/** Replays that are shown at once. */
const MAX_SHOWN = 5;

/** The replays that run, and those that ended since the page was opened, newest first, as they go on. */
export function useReplays(projectId: string) {
  const [{ data }, ask] = useQuery({ query: ReplaysDocument, variables: { projectId }, requestPolicy: 'network-only' });
  const [arrived, setArrived] = useState<ReadonlyMap<string, ReplayRowFragment>>(new Map());
  const show = (replay: ReplayRowFragment) =>
    setArrived((before) => new Map(before).set(replay.id, newest(before.get(replay.id), replay)));
  useFollow({
    document: FollowReplaysDocument,
    variables: { projectId },
    onData({ replayUpdated }) {
      if (!replayUpdated) return undefined;
      show(replayUpdated.replay);
      return replayUpdated.cursor;
    },
    onLive: () => ask({ requestPolicy: 'network-only' }),
  });
  const fetched = data?.project?.replays.nodes ?? [];
  const all = new Map(fetched.filter(({ status }) => status === 'RUNNING').map((replay) => [replay.id, replay]));
  // One that was running and is not found so any more is told by its last state.
  for (const replay of fetched) if (arrived.has(replay.id)) all.set(replay.id, replay);
  for (const replay of arrived.values()) all.set(replay.id, newest(all.get(replay.id), replay));
  const replays = [...all.values()].sort((one, other) => (one.id < other.id ? 1 : -1)).slice(0, MAX_SHOWN);
  return { replays, show };
}

function newest(known: ReplayRowFragment | undefined, replay: ReplayRowFragment): ReplayRowFragment {
  return known && known.updatedAt > replay.updatedAt ? known : replay;
}
