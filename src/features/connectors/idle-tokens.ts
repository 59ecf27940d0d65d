import type pg from 'pg';
import type { Logger } from 'pino';
import { findConnector, listConnectors } from '../../connectors/types/registry.ts';
import { runStatement, statement } from '../../database/statement.ts';
import type { WithToken } from '../../delivery/send/access-tokens.ts';
import type { Connector } from '../../generated/prisma/client.ts';
import type { SecretBox } from '../../secrets/secret-box.ts';

/** Refresh tokens expire if they aren't used for 60 days (Xero) or 100 days (Intuit). */
const IDLE_DAYS = 7;
const AT_ONCE = 10;
/** Limits how long a round takes. The remaining connectors wait for the next round. */
const PER_ROUND = 500;
const TYPES = listConnectors()
  .filter(({ credential }) => credential)
  .map(({ type }) => type);

// The order is random so that connectors whose vendor keeps failing don't hold up the others.
const FIND_IDLE = statement(
  'connector-tokens-find-idle',
  `
  SELECT connector."id", connector."projectId", connector."type", connector."secretConfig"
  FROM "Connector" connector LEFT JOIN "ConnectorToken" token ON token."id" = connector."id"
  WHERE connector."type" = ANY($1) AND connector."isActive" AND connector."pausedAt" IS NULL
    AND coalesce(token."expiresAt", connector."updatedAt") < now() - interval '${IDLE_DAYS} days'
  ORDER BY random() LIMIT ${PER_ROUND}`,
);

type Idle = Pick<Connector, 'id' | 'projectId' | 'type' | 'secretConfig'>;

/**
 * Creates the function that gets new access tokens for connectors that have sent nothing for a week, because unused
 * refresh tokens expire. If a vendor rejects the request, the next delivery pauses the connector.
 */
export function createIdleTokens(options: { secretBox: Pick<SecretBox, 'open'>; withToken: WithToken; log: Logger }) {
  const { secretBox, withToken, log } = options;

  async function renew({ id, projectId, type, secretConfig }: Idle): Promise<void> {
    try {
      const definition = findConnector(type);
      const cell = { table: 'Connector', column: 'secretConfig', rowId: id, projectId };
      const config = JSON.parse(secretBox.open(secretConfig, cell));
      if (!definition?.credential?.isIn(config)) return;
      const owner = { id, projectId, sealedCredential: secretConfig };
      await withToken(owner, definition, config, async () => ({ isUnauthorized: false }));
    } catch (error) {
      log.warn({ err: error, connectorId: id, projectId }, "couldn't renew the access token of an idle connector");
    }
  }

  return async function renewIdleTokens(pool: pg.Pool): Promise<void> {
    const { rows } = await runStatement<Idle>(pool, FIND_IDLE(TYPES));
    for (let start = 0; start < rows.length; start += AT_ONCE) {
      await Promise.all(rows.slice(start, start + AT_ONCE).map(renew));
    }
  };
}
