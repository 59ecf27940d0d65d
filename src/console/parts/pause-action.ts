import type { RowAction } from './row-menu.tsx';

/** The action that pauses or resumes a webhook or connector. Pausing needs no confirmation, because nothing is lost. */
export function pauseAction<Row extends { isPaused: boolean }>(
  row: Row,
  setPaused: (row: Row, isPaused: boolean) => void,
): RowAction {
  return {
    label: row.isPaused ? 'Resume' : 'Pause',
    lowest: 'DEVELOPER',
    onClick: () => setPaused(row, !row.isPaused),
  };
}
