import { inVisibleProject } from '../../auth/access.ts';
import { builder } from '../../schema/builder.ts';
import { resolvePage } from '../../schema/connections.ts';
import { checkedBy } from '../../schema/input-rules.ts';
import { enumName } from '../../schema/scalars.ts';
import { Project } from '../projects/schema.ts';
import { CONTACTS_RULES } from './contacts.ts';
import type { NoticeService, ShownContacts } from './service.ts';
import { readInput } from './service.ts';
import { NOTICE_TYPES, NOTICE_WORDINGS, type NoticeType, noticeText } from './types.ts';

declare module '../../schema/context.ts' {
  interface Services {
    notices: NoticeService;
  }
}

const NoticeTypeEnum = builder.enumType('NoticeType', {
  description: 'What a notice is about.',
  values: Object.fromEntries(
    NOTICE_TYPES.map((type) => [enumName(type), { value: type, description: NOTICE_WORDINGS[type].description }]),
  ) as Record<string, { value: NoticeType; description: string }>,
});

const Notice = builder.prismaNode('Notice', {
  description: 'Something that the project’s owner should know about, such as a destination that stopped working.',
  id: { field: 'id', description: 'Identifier, `ntc_…`.' },
  nullable: true,
  findUnique: (id, { viewer }) => ({ id, ...inVisibleProject(viewer) }),
  fields: (t) => ({
    projectId: t.exposeID('projectId', { description: 'The project that the notice belongs to.' }),
    type: t.field({
      type: NoticeTypeEnum,
      description: 'What the notice is about.',
      resolve: ({ type }) => type as NoticeType,
    }),
    subjectId: t.exposeID('subjectId', {
      description: 'The webhook, connector, API key, or project that the notice is about, which may have been deleted.',
    }),
    title: t.string({ description: 'What happened.', resolve: (notice) => noticeText(notice).title }),
    cause: t.string({ description: 'Why the notice was raised.', resolve: (notice) => noticeText(notice).cause }),
    advice: t.string({ description: 'Advice on what to do.', resolve: (notice) => noticeText(notice).advice }),
    url: t.string({
      description:
        'The console page that shows the cause. Contains only the path if the server’s public URL isn’t known.',
      resolve: (notice, _args, { services }) => services.notices.urlOf(notice),
    }),
    count: t.exposeInt('count', {
      description: 'How many times the notice was raised, or how many payments or deliveries are affected.',
    }),
    firstAt: t.expose('firstAt', { type: 'DateTime', description: 'When the notice was first raised.' }),
    lastAt: t.expose('lastAt', { type: 'DateTime', description: 'When the notice was last raised.' }),
    closedAt: t.expose('closedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the problem ended; null if it hasn’t.',
    }),
    readAt: t.expose('readAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the notice was marked as read.',
    }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When the notice last changed.' }),
  }),
});

const NoticeConnection = builder.connectionObject(
  { name: 'NoticeConnection', type: Notice, description: 'A page of notices, newest first.' },
  { name: 'NoticeEdge', description: 'A notice and its cursor.' },
);

const NoticeFilter = builder.inputType('NoticeFilter', {
  description: 'Filters notices. All conditions must match.',
  fields: (t) => ({
    types: t.field({ type: [NoticeTypeEnum], description: 'Only notices of these types.' }),
    subjectId: t.id({ description: 'Only notices about this webhook, connector, API key, or project.' }),
    from: t.field({ type: 'DateTime', description: 'Only notices first raised at or after this time.' }),
    to: t.field({ type: 'DateTime', description: 'Only notices first raised before this time.' }),
    isRead: t.boolean({ description: 'Only notices that are read (`true`) or unread (`false`).' }),
    isOpen: t.boolean({ description: 'Only notices about problems that are ongoing (`true`) or resolved (`false`).' }),
  }),
});

const Contacts = builder.objectRef<ShownContacts>('Contacts').implement({
  description: 'Who gets a project’s notices and its weekly digest.',
  fields: (t) => ({
    projectId: t.exposeID('id', { description: 'The project’s identifier.' }),
    emails: t.exposeStringList('emails', { description: 'Email addresses.' }),
    webhookUrl: t.exposeString('webhookUrl', {
      nullable: true,
      description: 'URL that receives signed POST requests. Its secrets are masked.',
    }),
    slackUrl: t.exposeString('slackUrl', {
      nullable: true,
      description: 'Incoming webhook URL for Slack or a compatible service. Its secrets are masked.',
    }),
    weeklyDigest: t.exposeBoolean('weeklyDigest', { description: 'Whether the contacts also get the weekly digest.' }),
    canSendEmail: t.exposeBoolean('canSendEmail', {
      description: 'Whether email is set up on this server. If not, email addresses are stored, but no email is sent.',
    }),
  }),
});

builder.objectFields(Project, (t) => ({
  notice: t.prismaField({
    type: Notice,
    nullable: true,
    description: 'A notice in the project.',
    args: { id: t.arg.id({ required: true, description: 'Identifier, `ntc_…`.' }) },
    resolve: (query, project, { id }, { services, viewer }) => services.notices.find(viewer, id, project.id, query),
  }),
  notices: t.connection(
    {
      type: Notice,
      description: 'The project’s notices.',
      args: { filter: t.arg({ type: NoticeFilter, description: 'Filters the notices.' }) },
      resolve: (project, { filter, ...args }, context, info) =>
        resolvePage('Notice', args, { context, info }, (query) =>
          context.services.notices.list(context.viewer, project.id, filter ?? {}, query),
        ),
    },
    NoticeConnection,
  ),
  unreadNoticeCount: t.int({
    description: 'The number of unread notices in the project.',
    resolve: ({ id }, _args, { services, viewer }) => services.notices.unreadCount(viewer, id),
  }),
  contacts: t.field({
    type: Contacts,
    description: 'Who gets the project’s notices.',
    resolve: ({ id }, _args, { services, viewer }) => services.notices.contacts(viewer, id),
  }),
}));

builder.relayMutationField(
  'markNoticesRead',
  {
    description: 'The notices to mark as read.',
    extensions: checkedBy(readInput),
    inputFields: (t) => ({
      projectId: t.id({ required: true, description: 'The project.' }),
      ids: t.idList({ description: 'The notices, up to 100. Default: all of the project’s notices.' }),
    }),
  },
  {
    description: 'Marks notices as read.',
    resolve: async (_root, { input: { projectId, ...input } }, { services, viewer }) => ({
      readCount: await services.notices.markRead(viewer, projectId, input),
    }),
  },
  {
    description: 'The result of `markNoticesRead`.',
    outputFields: (t) => ({
      readCount: t.exposeInt('readCount', { description: 'How many of the notices were unread.' }),
    }),
  },
);

builder.relayMutationField(
  'updateContacts',
  {
    description: 'Changes to a project’s contacts. Omitted fields stay unchanged.',
    extensions: checkedBy(CONTACTS_RULES),
    inputFields: (t) => ({
      projectId: t.id({ required: true, description: 'The project.' }),
      emails: t.stringList({ description: 'Email addresses, up to 10. Send an empty list to remove all addresses.' }),
      webhookUrl: t.string({
        description:
          'HTTPS URL that receives signed POST requests. Set to null to remove it. A masked URL that you send back stays unchanged.',
      }),
      slackUrl: t.string({
        description:
          'Incoming webhook URL for Slack or a compatible service. Set to null to remove it. A masked URL that you send back stays unchanged.',
      }),
      weeklyDigest: t.boolean({ description: 'Whether the contacts also get the weekly digest. Default: true.' }),
    }),
  },
  {
    description: 'Changes who gets a project’s notices. API keys can’t do this.',
    resolve: (_root, { input: { projectId, ...input } }, { services, viewer }) =>
      services.notices.updateContacts(viewer, projectId, input),
  },
  {
    description: 'The result of `updateContacts`.',
    outputFields: (t) => ({
      contacts: t.field({ type: Contacts, description: 'The contacts.', resolve: ({ contacts }) => contacts }),
      webhookSecret: t.exposeString('webhookSecret', {
        nullable: true,
        description: 'The webhook’s signing secret. Returned only if the webhook URL is new, and shown only once.',
      }),
    }),
  },
);

const NoticeUpdated = builder.simpleObject('NoticeUpdated', {
  description: 'A notice that is new or has changed.',
  fields: (t) => ({
    cursor: t.string({ description: 'Pass this cursor as `after` to continue from here.' }),
    notice: t.field({ type: Notice, description: 'The notice at the time it was read.' }),
  }),
});

builder.subscriptionField('noticeUpdated', (t) =>
  t.field({
    type: NoticeUpdated,
    nullable: true,
    description:
      'A project’s notices as they change. If you pass `after`, you first get the changes since that cursor.',
    args: {
      projectId: t.arg.id({ required: true, description: 'The project.' }),
      after: t.arg.string({ description: 'The cursor of the last change you received.' }),
    },
    subscribe: (_root, args, { services, viewer, backlog }) => services.feed.notices(viewer, args, backlog),
    resolve: (item) => item,
  }),
);
