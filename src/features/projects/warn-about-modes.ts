import type { Logger } from 'pino';
import type { Database } from '../../database/client.ts';
import { runStatement, statement } from '../../database/statement.ts';
import type { Network } from '../../gateway/chain/networks.ts';
import { modeOn } from '../../gateway/chain/served-networks.ts';
import { DELETED_PROJECT_ID } from '../deletions/soft-delete.ts';

const COUNT_LIVE_PROJECTS = statement(
  'projects-count-live',
  `SELECT count(*)::int AS "projects" FROM "Project" WHERE "mode" = 'LIVE' AND "id" <> $1`,
);

/**
 * Logs two facts about projects' modes that might surprise an operator: that this process doesn't know the networks, or
 * that a server with only test networks has live projects. These projects would accept real money if the server
 * supported a live network.
 */
export async function warnAboutModes(options: {
  db: Pick<Database, 'pool'>;
  networks: readonly Network[];
  log: Logger;
}): Promise<void> {
  const { db, networks, log } = options;
  if (networks.length === 0) {
    log.warn("neither NETWORK nor NETWORKS is set, so this process can't check projects' networks");
    return;
  }
  if (modeOn(networks, 'LIVE') === 'LIVE') return;
  // This doesn't use Prisma, because every process does this at startup, and loading the query compiler takes time.
  const { rows } = await runStatement<{ projects: number }>(db.pool, COUNT_LIVE_PROJECTS(DELETED_PROJECT_ID));
  const { projects } = rows[0]!;
  if (projects > 0)
    log.warn(
      { projects },
      'live projects are treated as test projects because this server supports only test networks',
    );
}
