import { z } from 'zod';
import { EVENT_TYPE_FILTERS, EVENT_TYPES } from '../../../events/types.ts';
import { id, paging } from '../inputs.ts';
import { defineTool, TO_CREATE, TO_READ_DELIVERIES, TO_SEND } from '../tool.ts';
import { pageOf, showPage } from '../view.ts';
import { connectorView, deliveryView, webhookView } from '../views.ts';

export const destinationTools = [
  defineTool({
    name: 'list_webhooks',
    title: 'List webhooks',
    description: 'Lists the project’s webhooks and whether they work. URLs are masked.',
    requires: TO_READ_DELIVERIES,
    effect: 'none',
    input: paging,
    output: pageOf(webhookView),
    run: (query, { tollgate }) => showPage(tollgate.webhooks.list(query), webhookView),
  }),
  defineTool({
    name: 'get_webhook',
    title: 'Get a webhook',
    description: 'Gets one webhook. Its URL is masked.',
    requires: TO_READ_DELIVERIES,
    effect: 'none',
    input: { webhookId: id('wh') },
    output: webhookView.schema,
    run: async ({ webhookId }, { tollgate }) => webhookView.show(await tollgate.webhooks.get(webhookId)),
  }),
  defineTool({
    name: 'create_webhook',
    title: 'Create a webhook',
    description:
      'Creates a webhook that receives events from now on. Its signing secret is not returned here. To get one, the user must rotate the secret in the console.',
    requires: TO_CREATE,
    effect: 'adds',
    input: {
      url: z.string().max(2_000).describe('HTTPS URL to send events to.'),
      eventTypes: z.array(z.enum(EVENT_TYPE_FILTERS)).min(1).max(EVENT_TYPE_FILTERS.length),
      name: z.string().max(60).optional().describe('A name to recognize the webhook by.'),
      description: z.string().max(1_000).optional(),
    },
    output: webhookView.schema,
    run: async (input, { tollgate }) => webhookView.show(await tollgate.webhooks.create(input)),
  }),
  defineTool({
    name: 'send_test_event',
    title: 'Send a test event',
    description: 'Sends a test event to one webhook. Use get_delivery to see the result.',
    requires: TO_SEND,
    effect: 'sends',
    input: {
      webhookId: id('wh'),
      eventType: z.enum(EVENT_TYPES).optional().describe('Default: the first type that the webhook is subscribed to.'),
    },
    output: deliveryView.schema,
    run: async ({ webhookId, ...body }, { tollgate }) =>
      deliveryView.show(await tollgate.webhooks.sendTestEvent(webhookId, body)),
  }),
  defineTool({
    name: 'list_connectors',
    title: 'List connectors',
    description: 'Lists the project’s connectors, such as Slack, and whether they work.',
    requires: TO_READ_DELIVERIES,
    effect: 'none',
    input: paging,
    output: pageOf(connectorView),
    run: (query, { tollgate }) => showPage(tollgate.connectors.list(query), connectorView),
  }),
  defineTool({
    name: 'get_connector',
    title: 'Get a connector',
    description: 'Gets one connector, without its configuration.',
    requires: TO_READ_DELIVERIES,
    effect: 'none',
    input: { connectorId: id('con') },
    output: connectorView.schema,
    run: async ({ connectorId }, { tollgate }) => connectorView.show(await tollgate.connectors.get(connectorId)),
  }),
];
