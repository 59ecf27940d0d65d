import type { GraphQLResolveInfo } from 'graphql';
import {
  AUDIT_ACTION_DESCRIPTIONS,
  AUDIT_ACTIONS,
  type AuditAction,
  actionOf,
  REPORTED_ACTIONS,
} from '../../audit/actions.ts';
import { visibleRecords } from '../../auth/access.ts';
import { builder } from '../../schema/builder.ts';
import { type PageArguments, resolvePage } from '../../schema/connections.ts';
import type { GraphQLContext } from '../../schema/context.ts';
import { checkedBy } from '../../schema/input-rules.ts';
import { enumName } from '../../schema/scalars.ts';
import { Project } from '../projects/schema.ts';
import { Viewer } from '../users/schema.ts';
import type { AuditService } from './service.ts';
import { toolCallInput } from './service.ts';

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
  description: 'Who made a change: a user, an API key, or an operator.',
  values: {
    USER: { value: 'USER', description: 'A person with a token.' },
    API_KEY: { value: 'API_KEY', description: 'A program with an API key.' },
    OPERATOR: { value: 'OPERATOR', description: 'One of this server’s operators. The log doesn’t record which one.' },
  } as const,
});

const AuditEntry = builder.prismaNode('AuditEntry', {
  description: 'A change that someone made through the API.',
  id: { field: 'id', description: 'Identifier, `aud_…`.' },
  nullable: true,
  findUnique: (id, { viewer }) => ({ id, ...visibleRecords(viewer) }),
  // Only what a document selects is read, because the values can be large.
  select: { id: true },
  fields: (t) => ({
    projectId: t.exposeID('projectId', {
      nullable: true,
      description: 'The affected project, which may have been deleted. Null for changes to a user’s account.',
    }),
    action: t.field({
      type: AuditActionEnum,
      description: 'The action that was taken.',
      select: { action: true },
      resolve: ({ action }) => actionOf(action),
    }),
    targetId: t.exposeID('targetId', { description: 'The resource that was changed. It may have been deleted since.' }),
    actorKind: t.expose('actorKind', {
      type: AuditActorKindEnum,
      description: 'Whether a user, an API key, or an operator made the change.',
    }),
    actorId: t.exposeID('actorId', {
      description: 'The user (`usr_…`) or API key (`key_…`) that made the change, or `operator`.',
    }),
    actorName: t.exposeString('actorName', {
      description: 'The actor’s name at the time of the change: the token’s subject, the key’s name, or `operator`.',
    }),
    changes: t.expose('changes', {
      type: 'JSON',
      description:
        'The new values. Secrets are omitted or masked. A large value is replaced with its size (`bytes`) and the SHA-256 hash of its JSON (`sha256`).',
    }),
    previous: t.expose('previous', {
      type: 'JSON',
      nullable: true,
      description: 'The previous values of the same fields; null for actions that don’t replace values.',
    }),
    client: t.exposeString('client', {
      nullable: true,
      description:
        'The program that sent the request, as identified by its `Tollgate-Client` header, for example, `mcp/create_endpoint`.',
    }),
    isReported: t.boolean({
      description:
        'Whether the client reported the entry itself. Everyone who can use the project can report tool calls, including viewers, so a report doesn’t prove that the call was made.',
      select: { action: true },
      resolve: ({ action }) => REPORTED_ACTIONS.has(action),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the change was made.' }),
  }),
});

const AuditEntryConnection = builder.connectionObject(
  { name: 'AuditEntryConnection', type: AuditEntry, description: 'A page of the audit log, newest first.' },
  { name: 'AuditEntryEdge', description: 'An entry and its cursor.' },
);

const AuditFilterInput = builder.inputType('AuditFilter', {
  description: 'Filters the audit log. All conditions must match.',
  fields: (t) => ({
    actions: t.field({ type: [AuditActionEnum], description: 'Only entries with these actions.' }),
    targetId: t.id({ description: 'Only changes to this resource.' }),
    actorId: t.id({ description: 'Only changes by this user (`usr_…`) or API key (`key_…`).' }),
    from: t.field({ type: 'DateTime', description: 'Only changes made at or after this time.' }),
    to: t.field({ type: 'DateTime', description: 'Only changes made before this time.' }),
  }),
});

type Arguments = PageArguments & { filter?: typeof AuditFilterInput.$inferInput | null | undefined };

type Request = { context: GraphQLContext; info: GraphQLResolveInfo };

type Part = { projectId?: string; isOfAccount?: boolean };

const readLog = ({ filter, ...page }: Arguments, request: Request, part: Part = {}) =>
  resolvePage('AuditEntry', page, request, (query) =>
    request.context.services.audit.list(request.context.viewer, { ...filter, ...part }, query),
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
      resolve: (project, args, context, info) => readLog(args, { context, info }, { projectId: project.id }),
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

builder.objectField(Viewer, 'accountLog', (t) =>
  t.connection(
    {
      type: AuditEntry,
      description:
        'Changes to the account itself rather than to a project, for example, by operators. Empty for API keys.',
      args: { filter: t.arg({ type: AuditFilterInput, description: 'Filters the entries.' }) },
      resolve: (_viewer, args, context, info) => readLog(args, { context, info }, { isOfAccount: true }),
    },
    AuditEntryConnection,
  ),
);

builder.relayMutationField(
  'recordToolCall',
  {
    description: 'The call to record.',
    extensions: checkedBy(toolCallInput),
    inputFields: (t) => ({
      projectId: t.id({ required: true, description: 'The project that the call applies to.' }),
      tool: t.string({ required: true, description: 'The tool’s name, for example, `list_payments`.' }),
      arguments: t.field({
        type: 'JSON',
        description: 'The arguments that may be logged: an object, up to 2,000 characters as JSON.',
      }),
    }),
  },
  {
    description:
      'Records in the audit log that a program is about to call a tool. The MCP server does this before every call. The entry is marked as reported by the client. Each user and API key can record up to 1,000 calls per project per hour.',
    resolve: (_root, { input: { projectId, ...input } }, { services, viewer }) =>
      services.audit.recordToolCall(viewer, projectId, input),
  },
  {
    description: 'The result of `recordToolCall`.',
    outputFields: (t) => ({
      tool: t.exposeString('tool', { description: 'The tool’s name.' }),
    }),
  },
);
