import { Tooltip } from '@mantine/core';
import { useSyncExternalStore } from 'react';
import { formatAgo, formatTime } from './format.ts';

const TICK_MILLISECONDS = 5_000;
const listeners = new Set<() => void>();
let now = Date.now();
let clock: ReturnType<typeof setInterval> | undefined;

/** One clock for all times on the page. */
function listen(listener: () => void): () => void {
  listeners.add(listener);
  clock ??= setInterval(() => {
    now = Date.now();
    for (const tell of listeners) tell();
  }, TICK_MILLISECONDS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(clock);
    clock = undefined;
  };
}

/** A time as its distance from now, which keeps up, with the exact time on hover and for screen readers. */
export function Time({ iso }: { iso: string }) {
  const present = useSyncExternalStore(listen, () => now);
  const exact = formatTime(iso);
  return (
    <Tooltip label={exact}>
      <time dateTime={iso} className="numeric" style={{ whiteSpace: 'nowrap' }}>
        {formatAgo(iso, Math.max(present, Date.parse(iso) <= Date.now() ? Date.parse(iso) : present))}
      </time>
    </Tooltip>
  );
}
