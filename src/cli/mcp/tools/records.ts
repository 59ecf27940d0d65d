import { z } from 'zod';
import { AUDIT_ACTIONS } from '../../../audit/actions.ts';
import { eventTypes, id, paging } from '../inputs.ts';
import { defineTool, TO_READ, TO_READ_DELIVERIES } from '../tool.ts';
import { pageOf, showPage } from '../view.ts';
import { auditEntryView, eventView } from '../views.ts';

export const recordTools = [
  defineTool({
    name: 'list_events',
    title: 'List events',
    description: 'Lists the events in the project, newest first.',
    requires: TO_READ_DELIVERIES,
    effect: 'none',
    input: { ...paging, eventType: eventTypes },
    output: pageOf(eventView),
    run: (query, { tollgate }) => showPage(tollgate.events.list(query), eventView),
  }),
  defineTool({
    name: 'get_event',
    title: 'Get an event',
    description: 'Gets one event with its payload.',
    requires: TO_READ_DELIVERIES,
    effect: 'none',
    input: { eventId: id('evt') },
    output: eventView.schema,
    run: async ({ eventId }, { tollgate }) => eventView.show(await tollgate.events.get(eventId)),
  }),
  defineTool({
    name: 'list_audit_log',
    title: 'List the audit log',
    description: 'Lists tool calls and changes to the project, including who made each change, newest first.',
    requires: TO_READ,
    effect: 'none',
    input: {
      ...paging,
      action: z
        .array(z.enum(AUDIT_ACTIONS))
        .max(AUDIT_ACTIONS.length)
        .optional()
        .describe('Only entries with these actions.'),
      targetId: z.string().max(64).optional().describe('Only entries about the resource with this ID.'),
    },
    output: pageOf(auditEntryView),
    run: (query, { tollgate }) => showPage(tollgate.auditLog.list(query), auditEntryView),
  }),
];
