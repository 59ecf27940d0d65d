import { isDeepStrictEqual } from 'node:util';
import type { ConnectorDefinition } from '../../connectors/definition.ts';
import { addressFields, type ConnectorConfig } from '../../connectors/describe.ts';
import type { Transaction } from '../../database/client.ts';

/**
 * Forgets a connector's access token and refresh token if the credential that they came from was changed, or the address
 * that they would be sent to. A process that is getting a token at this moment can't store it anymore.
 */
export async function forgetToken(
  tx: Transaction,
  definition: ConnectorDefinition,
  { id, before, after }: { id: string; before: ConnectorConfig; after: ConnectorConfig },
): Promise<void> {
  const { credential } = definition;
  if (!credential) return;
  const names = [...credential.fields, ...addressFields(definition).map(({ name }) => name)];
  if (names.every((name) => isDeepStrictEqual(before[name], after[name]))) return;
  await tx.connectorToken.updateMany({
    where: { id },
    data: { sealed: '', expiresAt: null, leaseUntil: null, generation: { increment: 1 } },
  });
}
