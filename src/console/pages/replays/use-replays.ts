import { useState } from 'react';
import { useQuery } from 'urql';
import { ReplaysCursorDocument } from '../../../generated/console/live.ts';
import {
  FollowReplaysDocument,
  LatestReplaysDocument,
  type ReplayRowFragment,
} from '../../../generated/console/replays.ts';
import { useFollow } from '../../api/use-follow.ts';

/** The number of replays to show. */
const MAX_SHOWN = 5;

/** Replays that are running or have ended since the page was opened, newest first, with live updates. */
export function useReplays(projectId: string) {
  const [{ data }, ask] = useQuery({
    query: LatestReplaysDocument,
    variables: { projectId },
    requestPolicy: 'network-only',
  });
  const [arrived, setArrived] = useState<ReadonlyMap<string, ReplayRowFragment>>(new Map());
  const show = (replay: ReplayRowFragment) =>
    setArrived((before) => new Map(before).set(replay.id, newest(before.get(replay.id), replay)));
  useFollow({
    cursor: ReplaysCursorDocument,
    document: FollowReplaysDocument,
    variables: { projectId },
    onData({ replayUpdated }) {
      if (!replayUpdated) return undefined;
      show(replayUpdated.replay);
      return replayUpdated.cursor;
    },
    onStart: () => ask({ requestPolicy: 'network-only' }),
  });
  const fetched = data?.project?.replays.nodes ?? [];
  const all = new Map(fetched.filter(({ status }) => status === 'RUNNING').map((replay) => [replay.id, replay]));
  // A replay that was running in its last live update may have ended since then, so use its fetched status too.
  for (const replay of fetched) if (arrived.has(replay.id)) all.set(replay.id, replay);
  for (const replay of arrived.values()) all.set(replay.id, newest(all.get(replay.id), replay));
  const replays = [...all.values()].sort((one, other) => (one.id < other.id ? 1 : -1)).slice(0, MAX_SHOWN);
  return { replays, show };
}

function newest(known: ReplayRowFragment | undefined, replay: ReplayRowFragment): ReplayRowFragment {
  return known && known.updatedAt > replay.updatedAt ? known : replay;
}
