import { builder } from '../../../schema/builder.ts';
import { EventTypeEnum } from '../../../schema/scalars.ts';
import { Delivery } from '../schema.ts';

builder.relayMutationField(
  'sendWebhookTestEvent',
  {
    description: 'The webhook to test.',
    inputFields: (t) => ({
      id: t.id({ required: true, description: 'The webhook.' }),
      projectId: t.id({ description: 'Optional. If set, the resource must belong to this project.' }),
      eventType: t.field({
        type: EventTypeEnum,
        description: 'Type of the test event. Default: the first event type that the webhook is subscribed to.',
      }),
    }),
  },
  {
    description: 'Sends an event with a sample payload, marked `"test": true`, to one webhook.',
    resolve: (_root, { input: { id, projectId, ...input } }, { services, viewer }) =>
      services.webhooks.sendTestEvent(viewer, id, input, projectId),
  },
  {
    description: 'The result of `sendWebhookTestEvent`.',
    outputFields: (t) => ({
      delivery: t.field({
        type: Delivery,
        description: 'The delivery of the test event.',
        resolve: (delivery) => delivery,
      }),
    }),
  },
);

const ConnectorProbeResult = builder.simpleObject('ConnectorProbeResult', {
  description: 'The result of checking the credentials.',
  fields: (t) => ({
    ok: t.boolean({ description: 'Whether the credentials work.' }),
    message: t.string({ description: 'The result in plain language.' }),
  }),
});

builder.relayMutationField(
  'testConnector',
  {
    description: 'The connector to test.',
    inputFields: (t) => ({
      id: t.id({ required: true, description: 'The connector.' }),
      projectId: t.id({ description: 'Optional. If set, the resource must belong to this project.' }),
      eventType: t.field({
        type: EventTypeEnum,
        description: 'If set, sends a test event of this type even if the credentials can be checked without one.',
      }),
    }),
  },
  {
    description:
      'Tests a connector. Verifies the credentials if the vendor offers a side-effect-free check. Otherwise, sends a test ' +
      'event with a sample payload.',
    resolve: (_root, { input: { id, projectId, ...input } }, { services, viewer }) =>
      services.connectors.test(viewer, id, input, projectId),
  },
  {
    description: 'The result of `testConnector`: either a probe or a delivery.',
    outputFields: (t) => ({
      probe: t.field({
        type: ConnectorProbeResult,
        nullable: true,
        description: 'The result of the check, if there was one.',
        resolve: ({ probe }) => probe,
      }),
      delivery: t.field({
        type: Delivery,
        nullable: true,
        description: 'The delivery of the test event, if one was sent.',
        resolve: ({ delivery }) => delivery,
      }),
    }),
  },
);
