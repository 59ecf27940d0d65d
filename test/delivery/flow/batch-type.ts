import { z } from 'zod';
import { type ConnectorDefinition, defineConnector, type VendorLimit } from '../../../src/connectors/definition.ts';
import { textField } from '../../../src/connectors/fields.ts';

const config = z.strictObject({ url: textField({ title: 'URL', description: 'Where it goes.' }) });

/** A type that posts the IDs of a batch's events, and drops events that get a 422. */
export function batchType(maxEvents: number, limit: Partial<VendorLimit>): { connectors: ConnectorDefinition[] } {
  const definition = defineConnector<z.infer<typeof config>>({
    type: 'dune',
    title: 'Batches',
    category: 'Data',
    description: 'For tests.',
    documentationUrl: 'https://example.com',
    config,
    supportsEvent: () => true,
    batch: { maxEvents, windowSeconds: 0.01 },
    vendorLimit: { count: 1, perSeconds: 1, documentationUrl: 'https://example.com/limits', ...limit },
    build: (events, { url }) => ({
      method: 'POST',
      url,
      headers: {},
      body: JSON.stringify(events.map(({ id }) => id)),
    }),
    classify: ({ statusCode }) =>
      statusCode === 422 ? { kind: 'drop', reason: 'Not accepted.' } : { kind: 'delivered' },
  });
  return { connectors: [definition as unknown as ConnectorDefinition] };
}
