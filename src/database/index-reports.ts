import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from 'pino';
import { runStatement, statement } from './statement.ts';

/** The first report comes soon, and each pause after it is twice as long, up to a maximum. */
const FIRST_PAUSE_MILLISECONDS = 1_000;
const MAX_PAUSE_MILLISECONDS = 60_000;

type Progress = {
  phase: string | null;
  percent: number | null;
  blocker: number | null;
  application: string | null;
  since: Date | null;
};

const READ_PROGRESS = statement(
  'index-read-progress',
  `
  SELECT p.phase, (100 * p.blocks_done / nullif(p.blocks_total, 0))::int AS "percent",
    b.pid AS "blocker", b.application_name AS "application", b.xact_start AS "since"
  FROM (SELECT $1::int AS pid) AS session
  LEFT JOIN pg_stat_progress_create_index p ON p.pid = session.pid
  LEFT JOIN pg_stat_activity b ON b.pid = ANY (pg_blocking_pids(session.pid))
  LIMIT 1`,
);

/**
 * Logs how the change of an index is going, and for whose transaction it waits, until the work is done.
 *
 * @param options.client not the session that changes the index
 * @param options.pid the number of that session
 */
export async function whileReporting<T>(
  options: { client: pg.Client; pid: number; migration: string; log: Logger },
  work: () => Promise<T>,
): Promise<T> {
  const { log, migration } = options;
  const stop = new AbortController();
  log.info({ migration }, 'changing an index; reads and writes continue');
  const reports = report(options, stop.signal).catch((error) => {
    if (!stop.signal.aborted) log.warn({ err: error, migration }, 'can’t tell how the change of an index is going');
  });
  try {
    return await work();
  } finally {
    stop.abort();
    await reports;
  }
}

async function report(
  { client, pid, migration, log }: Parameters<typeof whileReporting>[0],
  signal: AbortSignal,
): Promise<never> {
  for (let pause = FIRST_PAUSE_MILLISECONDS; ; pause = Math.min(pause * 2, MAX_PAUSE_MILLISECONDS)) {
    await sleep(pause, undefined, { signal });
    const { rows } = await runStatement<Progress>(client, READ_PROGRESS(pid));
    const { phase, percent, blocker, application, since } = rows[0]!;
    if (blocker === null) log.info({ migration, phase, percent }, 'still changing an index');
    else
      log.warn(
        { migration, phase, process: blocker, application, since },
        'the change of an index is waiting for another transaction to end; reads and writes continue',
      );
  }
}
