import { builder } from '../../../schema/builder.ts';
import { checkedBy } from '../../../schema/input-rules.ts';
import { loadedRow } from '../../../schema/loaded-row.ts';
import { ConnectorTypeEnum } from '../../../schema/scalars.ts';
import { subscriptionChanges, subscriptionInputs } from '../../destinations/schema.ts';
import { ConnectorConfigInput } from '../config-schema.ts';
import { connectorChanges, connectorInput } from '../input.ts';
import { Connector } from '../schema.ts';
import { withConfig } from '../typed-config.ts';

builder.relayMutationField(
  'createConnector',
  {
    description: 'Properties of the new connector.',
    extensions: checkedBy(connectorInput),
    inputFields: (t) => ({
      projectId: t.id({ required: true, description: 'The project to add the connector to.' }),
      type: t.field({ type: ConnectorTypeEnum, required: true, description: 'The service.' }),
      config: t.field({
        type: 'JSON',
        description: 'The configuration. See `connectorTypes` for the fields of each type.',
      }),
      typedConfig: t.field({
        type: ConnectorConfigInput,
        description:
          'The typed configuration: each connector type has its own input type. Set either this or `config`.',
      }),
      ...subscriptionInputs(t),
    }),
  },
  {
    description: 'Creates a connector. Your tier limits how many you can have.',
    resolve: (_root, { input: { projectId, config, typedConfig, ...input } }, { services, viewer }) =>
      withConfig({ config, typedConfig }, (given) =>
        services.connectors.create(viewer, projectId, { ...input, ...given }),
      ),
  },
  {
    description: 'The result of `createConnector`.',
    outputFields: (t) => ({
      connector: t.prismaField({
        type: Connector,
        description: 'The new connector.',
        resolve: (query, connector) => loadedRow(query, connector),
      }),
    }),
  },
);

builder.relayMutationField(
  'updateConnector',
  {
    description: 'Changes to a connector. Omitted fields stay unchanged.',
    extensions: checkedBy(connectorChanges),
    inputFields: (t) => ({
      id: t.id({ required: true, description: 'The connector to update.' }),
      projectId: t.id({ description: 'Optional. If set, the resource must belong to this project.' }),
      config: t.field({
        type: 'JSON',
        description:
          'The config fields to change. Omitted fields, and masked secrets that you send back, stay unchanged. Set a field to null to remove it. To change where events are sent, send every secret again.',
      }),
      typedConfig: t.field({
        type: ConnectorConfigInput,
        description:
          'The typed config: each connector type has its own input type. Otherwise, it works like `config`. Set only one of the two. Masked ' +
          'secrets that you send back stay unchanged.',
      }),
      ...subscriptionChanges(t),
    }),
  },
  {
    description: 'Updates a connector.',
    resolve: (_root, { input: { id, projectId, config, typedConfig, ...changes } }, { services, viewer }) =>
      withConfig({ config, typedConfig }, (given) =>
        services.connectors.update(viewer, id, { ...changes, ...given }, projectId),
      ),
  },
  {
    description: 'The result of `updateConnector`.',
    outputFields: (t) => ({
      connector: t.prismaField({
        type: Connector,
        description: 'The updated connector.',
        resolve: (query, connector) => loadedRow(query, connector),
      }),
    }),
  },
);

builder.relayMutationField(
  'deleteConnector',
  {
    description: 'The connector to delete.',
    inputFields: (t) => ({
      id: t.id({ required: true, description: 'The connector to delete.' }),
      projectId: t.id({ description: 'Optional. If set, the resource must belong to this project.' }),
    }),
  },
  {
    description: 'Deletes a connector and its delivery history.',
    resolve: async (_root, { input }, { services, viewer }) => {
      await services.connectors.delete(viewer, input.id, input.projectId);
      return { connectorId: input.id };
    },
  },
  {
    description: 'The result of `deleteConnector`.',
    outputFields: (t) => ({
      connectorId: t.exposeID('connectorId', { description: 'The identifier of the deleted connector.' }),
    }),
  },
);
