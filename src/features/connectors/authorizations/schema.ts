import { builder } from '../../../schema/builder.ts';
import { ConnectorTypeEnum } from '../../../schema/scalars.ts';
import { subscriptionInputs } from '../../destinations/schema.ts';
import type { ConnectorAuthorizations } from '../authorizations.ts';
import { Connector } from '../schema.ts';

declare module '../../../schema/context.ts' {
  interface Services {
    connectorAuthorizations: ConnectorAuthorizations;
  }
}

builder.relayMutationField(
  'startConnectorAuthorization',
  {
    description: 'Properties of the connector. Credentials in `config` are ignored.',
    inputFields: (t) => ({
      projectId: t.id({ required: true, description: 'The project of the connector.' }),
      connectorId: t.id({ description: 'The connector to connect again. Omit it to create one.' }),
      type: t.field({ type: ConnectorTypeEnum, required: true, description: 'The service.' }),
      config: t.field({
        type: 'JSON',
        required: true,
        description: 'The configuration. For an existing connector, the config fields to change.',
      }),
      ...subscriptionInputs(t),
    }),
  },
  {
    description:
      'Starts to connect an account to a connector, with an app of this service’s operator. Send the user to ' +
      '`authorizationUrl`. The vendor returns them to the console, which calls `finishConnectorAuthorization` within ten ' +
      'minutes. API keys can’t do this.',
    resolve: async (_root, { input: { projectId, ...input } }, { services, viewer }) => ({
      authorizationUrl: await services.connectorAuthorizations.start(viewer, projectId, input),
    }),
  },
  {
    description: 'The result of `startConnectorAuthorization`.',
    outputFields: (t) => ({
      authorizationUrl: t.exposeString('authorizationUrl', { description: 'The vendor’s page where the user agrees.' }),
    }),
  },
);

builder.relayMutationField(
  'finishConnectorAuthorization',
  {
    description: 'What the vendor returned.',
    inputFields: (t) => ({
      state: t.string({ required: true, description: 'The `state` that the vendor returned. It works once.' }),
      code: t.string({ required: true, description: 'The `code` that the vendor returned.' }),
    }),
  },
  {
    description:
      'Creates or changes the connector after the user has agreed. Only the user who started it can finish it. API keys ' +
      'can’t do this.',
    resolve: (_root, { input }, { services, viewer }) => services.connectorAuthorizations.finish(viewer, input),
  },
  {
    description: 'The result of `finishConnectorAuthorization`.',
    outputFields: (t) => ({
      connector: t.field({ type: Connector, description: 'The connector.', resolve: (connector) => connector }),
    }),
  },
);
