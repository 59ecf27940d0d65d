import { Tooltip } from '@mantine/core';
import { useSyncExternalStore } from 'react';
import { formatAgo, formatTime } from './format.ts';

const TICK_MILLISECONDS = 5_000;
const listeners = new Set<() => void>();
let now = Date.now();
let clock: ReturnType<typeof setInterval> | undefined;

/** All times on the page share one clock. */
function listen(listener: () => void): () => void {
  listeners.add(listener);
  clock ??= setInterval(() => {
    now = Date.now();
    for (const notify of listeners) notify();
  }, TICK_MILLISECONDS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(clock);
    clock = undefined;
  };
}

/** A relative time that stays up to date. A tooltip shows the exact time. */
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
