import type { ConnectorDefinition } from '../../connectors/definition.ts';
import { type ConnectorConfig, describeFields, secretFields } from '../../connectors/describe.ts';
import { parseInput } from '../../validation.ts';

/**
 * A connector in a copied project has no secrets until its owner sets them. Every other connector has at least one.
 *
 * @throws AppError `VALIDATION_FAILED` with pointers to the secrets in `config`.
 */
export function requireSecrets(definition: ConnectorDefinition, config: ConnectorConfig): void {
  const needsSecrets = describeFields(definition).some(({ secret }) => secret);
  if (needsSecrets && secretFields(definition, config).length === 0) parseInput(definition.config, config, '/config');
}
