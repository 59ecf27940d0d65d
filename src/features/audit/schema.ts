import type { GraphQLResolveInfo } from 'graphql';
import { AUDIT_ACTION_DESCRIPTIONS, AUDIT_ACTIONS, type AuditAction } from '../../audit/actions.ts';
import { visibleRecords } from '../../auth/access.ts';
import { builder } from '../../schema/builder.ts';
import { type PageArguments, resolvePage } from '../../schema/connections.ts';
import type { GraphQLContext } from '../../schema/context.ts';
import { enumName } from '../../schema/scalars.ts';
import { Project } from '../projects/schema.ts';
import { Viewer } from '../users/schema.ts';
import type { AuditService } from './service.ts';

declare module '../../schema/context.ts' {
  interface Services {
    audit: AuditService;
  }
}

const AuditActionEnum = builder.enumType('AuditAction', {
  description: 'The action that was taken.',
  values: Object.fromEntries(
    AUDIT_ACTIONS.map((action) => [
      enumName(action),
      { value: action, description: AUDIT_ACTION_DESCRIPTIONS[action] },
    ]),
  ) as Record<string, { value: AuditAction; description: string }>,
});

const AuditActorKindEnum = builder.enumType('AuditActorKind', {
  description: 'Who made a change: a user or an API key.',
  values: {
    USER: { value: 'USER', description: 'A person with a token.' },
    API_KEY: { value: 'API_KEY', description: 'A program with an API key.' },
  } as const,
});

const AuditEntry = builder.prismaNode('AuditEntry', {
  description: 'A change that someone made through the API.',
  id: { field: 'id', description: 'Identifier, `aud_…`.' },
  nullable: true,
  findUnique: (id, { viewer }) => ({ id, ...visibleRecords(viewer) }),
  fields: (t) => ({
    projectId: t.exposeID('projectId', { description: 'The project. It may have been deleted.' }),
    action: t.field({
      type: AuditActionEnum,
      description: 'The action that was taken.',
      resolve: ({ action }) => action as AuditAction,
    }),
    targetId: t.exposeID('targetId', { description: 'The resource that was changed. It may have been deleted.' }),
    actorKind: t.expose('actorKind', {
      type: AuditActorKindEnum,
      description: 'Whether a user or an API key made the change.',
    }),
    actorId: t.exposeID('actorId', { description: 'The user, `usr_…`, or API key, `key_…`, that made the change.' }),
    actorName: t.exposeString('actorName', {
      description: 'The actor’s name at the time of the change: the token’s subject or the key’s name.',
    }),
    changes: t.field({
      type: 'JSON',
      description: 'The new values. Secrets are omitted or masked.',
      resolve: ({ changes }) => changes,
    }),
    previous: t.field({
      type: 'JSON',
      nullable: true,
      description: 'The previous values of the same fields; null for actions that don’t replace values.',
      resolve: ({ previous }) => previous,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the change was made.' }),
  }),
});

const AuditEntryConnection = builder.connectionObject(
  { name: 'AuditEntryConnection', type: AuditEntry, description: 'A page of the audit log, newest first.' },
  { name: 'AuditEntryEdge', description: 'An entry and its cursor.' },
);

const AuditFilterInput = builder.inputType('AuditFilter', {
  description: 'Filters the audit log.',
  fields: (t) => ({
    actions: t.field({ type: [AuditActionEnum], description: 'Only these actions.' }),
    targetId: t.id({ description: 'Only changes to this resource.' }),
  }),
});

type Arguments = PageArguments & { filter?: typeof AuditFilterInput.$inferInput | null | undefined };

type Request = { context: GraphQLContext; info: GraphQLResolveInfo };

const readLog = ({ filter, ...page }: Arguments, request: Request, projectId?: string) =>
  resolvePage('AuditEntry', page, request, (query) =>
    request.context.services.audit.list(request.context.viewer, { ...filter, ...(projectId && { projectId }) }, query),
  );

builder.objectFields(Project, (t) => ({
  auditEntry: t.prismaField({
    type: AuditEntry,
    nullable: true,
    description: 'An entry in the project’s audit log.',
    args: { id: t.arg.id({ required: true, description: 'Identifier, `aud_…`.' }) },
    resolve: (query, project, { id }, { services, viewer }) => services.audit.find(viewer, id, project.id, query),
  }),
  auditLog: t.connection(
    {
      type: AuditEntry,
      description: 'Who changed what in the project.',
      args: { filter: t.arg({ type: AuditFilterInput, description: 'Filters the entries.' }) },
      resolve: (project, args, context, info) => readLog(args, { context, info }, project.id),
    },
    AuditEntryConnection,
  ),
}));

builder.objectField(Viewer, 'auditLog', (t) =>
  t.connection(
    {
      type: AuditEntry,
      description: 'Who changed what in all of the account’s projects, including deleted ones.',
      args: { filter: t.arg({ type: AuditFilterInput, description: 'Filters the entries.' }) },
      resolve: (_viewer, args, context, info) => readLog(args, { context, info }),
    },
    AuditEntryConnection,
  ),
);
