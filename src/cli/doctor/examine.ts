import pino from 'pino';
import { type Config, ConfigError, readConfig } from '../../config/config.ts';
import { type Database, openDatabase } from '../../database/client.ts';
import { placeOf, reasonOf } from '../../database/connection.ts';
import { startEmbeddedPostgres } from '../../database/embedded/embedded-postgres.ts';
import { PoolerSettingsError } from '../../database/pooler.ts';
import { anyOf } from '../../egress/allow-list.ts';
import { createEgress } from '../../egress/egress.ts';
import { checkClock, checkConnections, checkHold, checkMigrations, checkVersion } from './database.ts';
import { checkNotifications } from './database-connections.ts';
import { type CheckContext, type Finding, findingsOf, type Surroundings } from './finding.ts';
import { isWide, openingFindings } from './openings.ts';
import { checkChains, checkFacilitators, checkIssuers, checkOutbound } from './outside.ts';
import { checkSecretKeys } from './secrets.ts';

type Check<Subject> = (subject: Subject) => Promise<Finding | Finding[]>;

const CONNECTIONS = 3;
const DATABASE_CHECKS: readonly Check<CheckContext>[] = [
  checkVersion,
  checkMigrations,
  checkHold,
  checkClock,
  checkNotifications,
  checkConnections,
];
const quiet = pino({ level: 'silent' });

/** Checks everything that a service with this environment needs, and yields each finding as soon as it is available. */
export async function* examine(env: NodeJS.ProcessEnv): AsyncGenerator<Finding> {
  let config: Config;
  try {
    config = readConfig(env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const { failed } = findingsOf('configuration');
    for (const problem of error.problems)
      yield failed(problem, 'See docs/configuration.md. The other checks were skipped.');
    return;
  }
  const mode = config.production ? 'production' : 'development';
  yield findingsOf('configuration').ok(`${mode}, ${[...config.roles].join(', ')}`);
  yield checkEgressAllow(config);
  yield* openingFindings(config);

  const { egressAllow, serviceAllow, egressProxy: proxy } = config;
  const egress = createEgress({ allow: anyOf(egressAllow, serviceAllow), proxy, log: quiet });
  try {
    yield* inOrder(outsideChecks(config), { config, egress });
    yield* withDatabase(config, (db) => inOrder([...DATABASE_CHECKS, checkSecretKeys], { config, db, egress }));
  } finally {
    await egress.close();
  }
}

function outsideChecks({ roles, sandbox }: Config): Check<Surroundings>[] {
  const ofGateway = roles.has('gateway') && !sandbox ? [checkFacilitators, checkChains] : [];
  return [checkOutbound, checkIssuers, ...ofGateway];
}

async function* inOrder<Subject>(checks: readonly Check<Subject>[], subject: Subject): AsyncGenerator<Finding> {
  for (const check of checks) {
    try {
      yield* [await check(subject)].flat();
    } catch (error) {
      const { failed } = findingsOf(check.name.replace(/^check/, '').toLowerCase());
      yield failed((error as Error).message, 'The check could not run. Fix this first.');
    }
  }
}

async function* withDatabase(
  { databaseUrl, databaseDirectUrl: directUrl, dataDir }: Config,
  check: (db: Database) => AsyncGenerator<Finding>,
): AsyncGenerator<Finding> {
  const { ok, failed } = findingsOf('database');
  const embedded = databaseUrl ? undefined : await startEmbeddedPostgres({ dataDir, log: quiet });
  try {
    const url = databaseUrl ?? embedded!.url;
    let db: Database;
    try {
      const applicationName = 'tollgate-doctor';
      db = await openDatabase({ url, directUrl, poolSize: CONNECTIONS, log: quiet, applicationName });
    } catch (error) {
      if (error instanceof PoolerSettingsError) {
        yield findingsOf(error.setting).failed(error.problem, error.advice);
        return;
      }
      yield failed(
        `${placeOf(url)}: ${reasonOf(error as Error)}`,
        'Check DATABASE_URL and its password, and make sure the server accepts connections from this machine.',
      );
      return;
    }
    try {
      yield ok(embedded ? `embedded, in ${dataDir}` : 'reachable');
      if (directUrl !== undefined)
        yield findingsOf('DATABASE_DIRECT_URL').ok('points to the same database as DATABASE_URL');
      yield* check(db);
    } finally {
      await db.close();
    }
  } finally {
    await embedded?.stop();
  }
}

function checkEgressAllow({ egressAllow, production }: Config): Finding {
  const { ok, warning } = findingsOf('EGRESS_ALLOW');
  const { privateEntries } = egressAllow;
  if (privateEntries.length === 0) return ok('allows public addresses only');
  const wide = privateEntries.filter(isWide);
  if (wide.length > 0) {
    return warning(
      `It allows a whole network or every port: ${wide.join(', ')}.`,
      'List individual addresses and ports.',
    );
  }
  return ok(`allows ${privateEntries.join(', ')}${production ? '' : ' for development'}`);
}
