import { builder } from '../../schema/builder.ts';
import { checkedBy } from '../../schema/input-rules.ts';
import { loadedRow } from '../../schema/loaded-row.ts';
import { ProjectModeEnum } from '../../schema/scalars.ts';
import { NETWORKS_INPUT, Project } from '../projects/schema.ts';
import type { ProjectCopyService } from './service.ts';
import { copyInput } from './service.ts';

declare module '../../schema/context.ts' {
  interface Services {
    projectCopies: ProjectCopyService;
  }
}

builder.relayMutationField(
  'copyProject',
  {
    description: 'Which project to copy, and how the copy differs.',
    extensions: checkedBy(copyInput),
    inputFields: (t) => ({
      projectId: t.id({ required: true, description: 'The project to copy.' }),
      name: t.string({ required: true, description: 'Display name of the copy, 1 to 200 characters.' }),
      walletAddress: t.string({ required: true, description: 'EVM wallet that receives the copy’s payments.' }),
      mode: t.field({
        type: ProjectModeEnum,
        required: true,
        description: 'Whether the copy accepts real money. You can’t change this later.',
      }),
      networks: t.stringList({ description: NETWORKS_INPUT }),
    }),
  },
  {
    description:
      'Creates a project with copies of another project’s endpoints, webhooks, connectors, milestones, and buyer rules, for ' +
      'example, to go live with a test project. Secrets, API keys, the custom domain, and the history aren’t copied. Webhooks and connectors ' +
      'start disabled: enable them once you have set their secrets. Endpoints that have upstream headers also start ' +
      'disabled. API keys can’t do this.',
    resolve: (_root, { input: { projectId, ...input } }, { services, viewer }) =>
      services.projectCopies.copy(viewer, projectId, input),
  },
  {
    description: 'The result of `copyProject`.',
    outputFields: (t) => ({
      project: t.prismaField({
        type: Project,
        description: 'The copy.',
        resolve: (query, project) => loadedRow(query, project),
      }),
    }),
  },
);
