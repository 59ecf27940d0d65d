import { isDeepStrictEqual } from 'node:util';
import type { ConnectorDefinition } from '../../connectors/definition.ts';
import { addressFields, type ConnectorConfig } from '../../connectors/describe.ts';
import type { Transaction } from '../../database/client.ts';

/** Whether a change affects the credential that a connector's tokens came from, or the address that they are sent to. */
export function changesCredential(
  definition: ConnectorDefinition,
  before: ConnectorConfig,
  after: ConnectorConfig,
): boolean {
  const { credential } = definition;
  if (!credential) return false;
  const names = [...credential.fields, ...addressFields(definition).map(({ name }) => name)];
  return names.some((name) => !isDeepStrictEqual(before[name], after[name]));
}

/**
 * Forgets a connector's access token and refresh token. A process that is currently requesting a token can no longer
 * store it.
 */
export async function forgetToken(tx: Transaction, connectorId: string): Promise<void> {
  await tx.connectorToken.updateMany({
    where: { id: connectorId },
    data: { sealed: '', expiresAt: null, leaseUntil: null, generation: { increment: 1 } },
  });
}
