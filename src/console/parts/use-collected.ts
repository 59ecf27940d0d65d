import { useCallback, useEffect, useEffectEvent, useRef } from 'react';

/**
 * Returns a function that starts `run` soon after it is called. Further calls before then have no effect.
 *
 * @param settleMilliseconds how long to wait after a call.
 * @param spacingMilliseconds the minimum time between two runs.
 */
export function useCollected(
  run: () => void,
  settleMilliseconds: number,
  spacingMilliseconds = settleMilliseconds,
): () => void {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const last = useRef(Number.NEGATIVE_INFINITY);
  const runNow = useEffectEvent(run);
  useEffect(() => {
    return () => {
      clearTimeout(timer.current);
      timer.current = undefined;
    };
  }, []);
  return useCallback(() => {
    const next = last.current + spacingMilliseconds - performance.now();
    timer.current ??= setTimeout(
      () => {
        timer.current = undefined;
        last.current = performance.now();
        runNow();
      },
      Math.max(settleMilliseconds, next),
    );
  }, [settleMilliseconds, spacingMilliseconds]);
}
