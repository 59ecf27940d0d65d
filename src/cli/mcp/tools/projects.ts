import { id, paging } from '../inputs.ts';
import { defineTool, TO_READ } from '../tool.ts';
import { pageOf, showPage } from '../view.ts';
import { projectView } from '../views.ts';

export const projectTools = [
  defineTool({
    name: 'list_projects',
    title: 'List projects',
    description: 'Lists the projects that the credential can access. An API key can access one.',
    requires: TO_READ,
    effect: 'none',
    isInProject: false,
    input: paging,
    output: pageOf(projectView),
    run: (query, { tollgate }) => showPage(tollgate.projects.list(query), projectView),
  }),
  defineTool({
    name: 'get_project',
    title: 'Get a project',
    description: 'Gets a project: its name, wallet, networks, and gateway URL.',
    requires: TO_READ,
    effect: 'none',
    isInProject: false,
    input: { projectId: id('proj').optional() },
    output: projectView.schema,
    run: async (_input, { tollgate, projectId }) => projectView.show(await tollgate.projects.get(projectId)),
  }),
];
