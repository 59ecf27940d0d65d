// Biome lints the code; this lints the GraphQL schema alone.
import graphql from '@graphql-eslint/eslint-plugin';

export default [
  {
    files: ['schema.graphql'],
    languageOptions: { parser: graphql.parser, parserOptions: { graphQLConfig: { schema: 'schema.graphql' } } },
    plugins: { '@graphql-eslint': graphql },
    rules: {
      ...graphql.configs['flat/schema-recommended'].rules,
      ...graphql.configs['flat/schema-relay'].rules,
      // Payloads, pages and answers of a moment have no identity of their own.
      '@graphql-eslint/strict-id-in-types': [
        'error',
        {
          exceptions: {
            suffixes: [
              'Connection',
              'Edge',
              'Payload',
              'PageInfo',
              'Recorded',
              'Updated',
              'Result',
              'Limits',
              'Info',
              'Totals',
              'Bucket',
            ],
            types: [
              ...['Viewer', 'ConnectorTypeField', 'Revenue', 'RevenueEndpoint', 'RevenueCustomer'],
              ...[
                'ConnectorTypeLimit',
                'CurlVariable',
                'DeliveryExplanation',
                'DeliveryStats',
                'FilteredOutCount',
                'RemainingTry',
                'WebhookAuthentication',
                'WebhookHeader',
              ],
            ],
          },
        },
      ],
      // `nodes` beside `edges` is a shortcut that clients like.
      '@graphql-eslint/relay-edge-types': [
        'error',
        { withEdgeSuffix: true, shouldImplementNode: true, listTypeCanWrapOnlyEdgeType: false },
      ],
    },
  },
];
