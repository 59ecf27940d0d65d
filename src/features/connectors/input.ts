import { z } from 'zod';
import { CONNECTOR_TYPES } from '../../connectors/definition.ts';
import type { ConnectorConfig } from '../../connectors/describe.ts';
import { isConnectorType } from '../../connectors/types/registry.ts';
import { subscriptionShape, switchShape } from '../destinations/input.ts';

const typeInput = z.string().refine(isConnectorType, `Must be one of ${CONNECTOR_TYPES.join(', ')}.`);
// `z.record` would silently drop a key named `__proto__`.
const configInput = z.custom<ConnectorConfig>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'Must be an object.',
);
/** The input for a new connector. */
export const connectorInput = z.strictObject({ type: typeInput, config: configInput, ...subscriptionShape });
/** The input for changes to a connector. */
export const connectorChanges = connectorInput.omit({ type: true }).partial().extend(switchShape);
