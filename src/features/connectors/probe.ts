import type { Queryable } from '../../database/client.ts';
import { isBlocked, startBlock } from '../../delivery/flow/circuits.ts';
import { type ConnectorProbe, createConnectorProbe } from '../../delivery/send/probe-connector.ts';

/**
 * Creates the function that checks a connector's credentials. While a vendor is blocking this service's IP address, it
 * sends nothing, because each request could prolong the block. If the check finds out about a block, deliveries wait too.
 */
export function createProbe({
  db,
  ...options
}: Parameters<typeof createConnectorProbe>[0] & { db: Queryable }): ConnectorProbe {
  const probe = createConnectorProbe(options);
  return async (connector, definition, config) => {
    const { type, title } = definition;
    if (definition.probe && (await isBlocked(db, type))) {
      const reason = `${title} is blocking requests from this service's IP address.`;
      return { ok: false, message: `${reason} Test the connector once the block has ended.` };
    }
    const result = await probe(connector, definition, config);
    if (result?.blockedSeconds !== undefined) await startBlock(db, type, result.blockedSeconds);
    return result;
  };
}
