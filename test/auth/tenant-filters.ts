/** A place in the code with a tenant filter, and the code that replaces it. */
export type Removal = {
  /** In `src/`. */
  file: string;
  what: string;
  /** The text where the function begins. The filter is the first one after it. */
  within: string;
  filter: string;
  without: string;
};

type Change = [what: string, within: string, filter: string, without: string];

const at = (file: string, ...changes: Change[]): Removal[] =>
  changes.map(([what, within, filter, without]) => ({ file, what, within, filter, without }));

const item = (type: string) => `visibleItem(viewer, '${type}', id, projectId)`;
const IN_PROJECT = 'await inProject(db.prisma, viewer, projectId)';
const NODE = ', ...inVisibleProject(viewer)';

/** Tenant filters of every kind. */
export const REMOVALS: readonly Removal[] = [
  ...at(
    'features/deliveries/service.ts',
    ['list', 'async list(', IN_PROJECT, '{ projectId }'],
    ['find', '    find(', item('Delivery'), '{ id }'],
    ['explain', 'async explain(', "visibleItem(viewer, 'Delivery', id)", '{ id }'],
    ['resend', 'async resend(', item('Delivery'), '{ id }'],
  ),
  ...at(
    'features/payments/service.ts',
    ['list', 'async list(', IN_PROJECT, '{ projectId }'],
    ['find', '    find(', item('Payment'), '{ id }'],
    ['totals', 'async totals(', IN_PROJECT, '{ projectId }'],
  ),
  ...at(
    'features/customers/service.ts',
    ['list', 'async list(', `...(${IN_PROJECT})`, 'projectId'],
    ['count', 'async count(', `...(${IN_PROJECT})`, 'projectId'],
    ['totals', 'async totals(', `...(${IN_PROJECT})`, 'projectId'],
  ),
  ...at(
    'features/events/service.ts',
    ['list', 'async list(', 'ofProject(visible)', '{ projectId }'],
    ['find', '    find(', item('Event'), '{ id }'],
  ),
  ...at('features/events/find-destinations.ts', [
    'SQL',
    'const OF_PROJECT = visibleStatements(',
    ' AND {visible project $3}',
    '',
  ]),
  ...at(
    'features/webhooks/service.ts',
    ['list', 'async list(', 'pages.load(viewer, visible', 'pages.load(viewer, projectId'],
    ['count', 'async count(', 'pages.count(viewer, visible', 'pages.count(viewer, projectId'],
    ['find', '    find(', item('Webhook'), '{ id }'],
    ['create', 'async create(', 'await requireProject(db.prisma, viewer, projectId)', '{ id: projectId }'],
    ['update', 'async update(', item('Webhook'), '{ id }'],
    ['delete', 'async delete(', item('Webhook'), '{ id }'],
    ['rotateSecret', 'async rotateSecret(', item('Webhook'), '{ id }'],
    ['sendTestEvent', 'async sendTestEvent(', item('Webhook'), '{ id }'],
  ),
  ...at(
    'features/connectors/service.ts',
    ['update', 'async update(', item('Connector'), '{ id }'],
    [
      ...(['create', 'async create(', 'await requireProject(db.prisma, viewer, projectId)'] as const),
      '{ id: projectId, userId: viewer.userId }',
    ],
    ['delete', 'async delete(', item('Connector'), '{ id }'],
    ['test', 'async test(', item('Connector'), '{ id }'],
  ),
  ...at('features/api-keys/service.ts', ['create', 'async create(', 'projectId: project.id', 'projectId']),
  ...at('features/endpoints/service.ts', ['delete', 'async delete(', item('Endpoint'), '{ id }']),
  ...at(
    'features/endpoints/reader.ts',
    ['findTogether', 'const findTogether', ', ...inVisibleProject(viewer)', ''],
    ['listInOrder', 'async listInOrder(', `...(${IN_PROJECT})`, 'projectId'],
  ),
  ...at('features/endpoints/path-conflict.ts', [
    'SQL',
    'const FIND_OVERLAPPING = visibleStatements(',
    ' AND {visible p $4}',
    '',
  ]),
  ...at('features/endpoints/schema.ts', ['node', 'findUnique:', NODE, '']),
  ...at('features/webhooks/schema.ts', ['node', 'findUnique:', NODE, '']),
  ...at('features/payments/schema.ts', ['node', 'findUnique:', NODE, '']),
  ...at('features/projects/schema.ts', ['node', 'findUnique:', ', ...visibleProjects(viewer)', '']),
  ...at('features/audit/schema.ts', ['node', 'findUnique:', ', ...visibleRecords(viewer)', '']),
  ...at('features/projects/find.ts', ['SQL', 'const FIND = visibleStatements(', ' AND {visible "Project" $2}', '']),
  ...at(
    'features/projects/service.ts',
    ['list', 'async list(', 'visibleProjects(viewer), ', ''],
    ['count', 'async count(', 'visibleProjects(viewer), ', ''],
    ['update', 'async update(', 'visibleProject(viewer, id)', '{ id }'],
    ['delete', 'async delete(', 'visibleProject(viewer, id)', '{ id }'],
  ),
  ...at('features/project-copies/service.ts', [
    'copy',
    'async copy(',
    'visibleProject(viewer, projectId)',
    '{ id: projectId }',
  ]),
  ...at(
    'features/imports/stored-endpoints.ts',
    ['stored endpoints', 'function readStored(', NODE, ''],
    ['compared endpoints', 'function* compareEach(', NODE, ''],
  ),
  ...at(
    'features/members/service.ts',
    ['list', 'async list(', IN_PROJECT, '{ projectId }'],
    ['remove', 'async remove(', item('ProjectMember'), '{ id }'],
  ),
  ...at('features/members/invitations/service.ts', [
    ...(['accept and decline', 'async function endInvitation(', '...addressedTo(viewer), ', ''] as const),
  ]),
  ...at(
    'features/notices/service.ts',
    ['unreadCount', 'async unreadCount(', `...(${IN_PROJECT})`, 'projectId'],
    ['markRead', 'async markRead(', '...ofProject(project.id)', 'projectId'],
    ['contacts', 'async contacts(', IN_PROJECT, '{ projectId }'],
  ),
  ...at(
    'features/audit/service.ts',
    ['list', 'async list(', 'ownRecords(viewer)', '{}'],
    ['find', '    find(', ', ...visibleRecords(viewer)', ''],
  ),
  ...at('features/replays/service.ts', ['cancel', 'async cancel(', item('Replay'), '{ id }']),
  ...at('features/revenue/service.ts', [
    'read',
    'async read(',
    'await requireVisible(db.prisma, viewer, project.id)',
    'project.id',
  ]),
  ...at('features/delivery-stats/service.ts', [
    ...(['read', 'async read(', 'await requireVisible(db.prisma, viewer, projectId)', 'projectId'] as const),
  ]),
  ...at('features/search/service.ts', [
    ...(['find', 'async find(', 'await searchableProjects(db.prisma, viewer, projectId)', '[projectId!]'] as const),
  ]),
  ...at('features/operator/service.ts', ['find', 'async find(', ', ...visibleUsers(viewer)', '']),
  ...at(
    'live/feed-opener.ts',
    ['rows', 'function readAs(', NODE, ''],
    [
      'projects',
      'async function open(',
      'await fairQueue.run(viewer.userId, () => requireVisible(db.prisma, viewer, id))',
      'id',
    ],
  ),
];
