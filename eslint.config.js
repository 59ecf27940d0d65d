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
              // What events and connectors contain.
              ...['Data', 'ConnectorConfig'],
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
              ...['BuyerRules', 'DnsRecord', 'GatewayHostStatus', 'HttpChallenge'],
              // What belongs to an object with an ID.
              ...['Contacts', 'DestinationState', 'LiveCursors', 'OperatorUser', 'AccountHealth'],
              ...['ConnectorTypeField', 'Revenue', 'RevenueEndpoint', 'RevenueCustomer', 'RevenueDailySummaryEndpoint'],
              ...[
                'ConnectorTypeLimit',
                'PaymentNetwork',
                'CurlVariable',
                'DeliveryExplanation',
                'DeliveryStats',
                'FilteredOutCount',
                'ProjectUpstreamHeader',
                'ImportChange',
                'ImportedEndpoint',
                'ImportError',
                'ImportPreviewItem',
                'ImportProblem',
                'RemainingTry',
                'UpstreamHeader',
                'WebhookAuthentication',
                'WebhookClientCertificate',
                'WebhookHeader',
              ],
            ],
          },
        },
      ],
      // `nodes` beside `edges` is a shortcut that clients like. An `OperatorUser` is an operator's view of a `User`, not a node.
      '@graphql-eslint/relay-edge-types': [
        'error',
        { withEdgeSuffix: true, shouldImplementNode: false, listTypeCanWrapOnlyEdgeType: false },
      ],
    },
  },
];
