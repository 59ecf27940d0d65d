import { builder } from '../../../schema/builder.ts';
import { checkedBy } from '../../../schema/input-rules.ts';
import { loadedRow } from '../../../schema/loaded-row.ts';
import { overlapInput } from '../../rotation/overlap.ts';
import { Project } from '../schema.ts';
import type { UpstreamSecretService } from './service.ts';

declare module '../../../schema/context.ts' {
  interface Services {
    upstreamSecrets: UpstreamSecretService;
  }
}

builder.objectFields(Project, (t) => ({
  upstreamSecret: t.string({
    nullable: true,
    description:
      'The secret that your API uses to verify that a request came through the gateway, `whsec_…`. Null if you read it with an API key.',
    resolve: (project, _args, { services, viewer }) => services.upstreamSecrets.read(viewer, project),
  }),
  previousUpstreamSecretExpiresAt: t.field({
    type: 'DateTime',
    nullable: true,
    description: 'Until this time, requests to your API are also signed with the previous secret.',
    resolve: ({ previousUpstreamSecretExpiresAt }) => previousUpstreamSecretExpiresAt,
  }),
}));

builder.relayMutationField(
  'rotateUpstreamSecret',
  {
    description: 'The project that gets a new secret, and how long requests are also signed with the old one.',
    extensions: checkedBy(overlapInput),
    inputFields: (t) => ({
      projectId: t.id({ required: true, description: 'The project.' }),
      overlapHours: t.int({
        description: 'How many hours (0 to 168) requests are also signed with the old secret. Default: 24.',
      }),
    }),
  },
  {
    description:
      'Replaces the secret that your API uses to verify that requests came through the gateway. Until the overlap ends, requests are signed with both the old and new secrets. API keys can’t do this.',
    resolve: (_root, { input: { projectId, ...input } }, { services, viewer }) =>
      services.upstreamSecrets.rotate(viewer, projectId, input),
  },
  {
    description: 'The result of `rotateUpstreamSecret`.',
    outputFields: (t) => ({
      project: t.prismaField({
        type: Project,
        description: 'The project, with its new secret.',
        resolve: (query, project) => loadedRow(query, project),
      }),
    }),
  },
);
