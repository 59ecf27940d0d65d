import { builder } from '../../../schema/builder.ts';
import { loadedRow } from '../../../schema/loaded-row.ts';
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
      projectId: t.id({ required: true, description: 'The project that the connector belongs to.' }),
      connectorId: t.id({ description: 'The connector to reconnect. Omit this field to create a connector.' }),
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
      'Starts connecting an account to a connector through the operator’s OAuth app. Send the user to ' +
      '`authorizationUrl`. The vendor redirects them to the console, which calls `finishConnectorAuthorization` within ten ' +
      'minutes. API keys can’t do this.',
    resolve: async (_root, { input: { projectId, ...input } }, { services, viewer }) => ({
      authorizationUrl: await services.connectorAuthorizations.start(viewer, projectId, input),
    }),
  },
  {
    description: 'The result of `startConnectorAuthorization`.',
    outputFields: (t) => ({
      authorizationUrl: t.exposeString('authorizationUrl', {
        description: 'The URL of the vendor’s page where the user authorizes access.',
      }),
    }),
  },
);

builder.relayMutationField(
  'finishConnectorAuthorization',
  {
    description: 'The values that the vendor returned.',
    inputFields: (t) => ({
      state: t.string({
        required: true,
        description: 'The `state` that the vendor returned. Each `state` can be used only once.',
      }),
      code: t.string({ required: true, description: 'The `code` that the vendor returned.' }),
    }),
  },
  {
    description:
      'Creates or changes the connector after the user authorizes access. Must be called by the user who started the authorization. API keys ' +
      'can’t do this.',
    resolve: (_root, { input }, { services, viewer, identifyAgain }) =>
      services.connectorAuthorizations.finish(viewer, input, identifyAgain),
  },
  {
    description: 'The result of `finishConnectorAuthorization`.',
    outputFields: (t) => ({
      connector: t.prismaField({
        type: Connector,
        description: 'The connector.',
        resolve: (query, connector) => loadedRow(query, connector),
      }),
    }),
  },
);
