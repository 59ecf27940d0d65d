import { builder } from '../../../schema/builder.ts';
import { loadedRow } from '../../../schema/loaded-row.ts';
import { defaultHostOf, type GatewayAddresses, gatewayUrlOf } from '../gateway-url.ts';
import { Project } from '../schema.ts';
import { HOST_STATUSES, type HostService, type HostStatus } from './service.ts';

declare module '../../../schema/context.ts' {
  interface Services {
    hosts: HostService;
    gatewayAddresses: GatewayAddresses;
  }
}

const STATUS_DESCRIPTIONS: Readonly<Record<(typeof HOST_STATUSES)[number], string>> = {
  PENDING: 'You haven’t verified that you own the domain yet, so the gateway doesn’t serve it.',
  ACTIVE: 'The gateway serves the domain.',
  FAILING:
    'The gateway serves the domain, but the domain is failing its checks. After a week of failures, the project loses the domain.',
};

const StatusEnum = builder.enumType('DomainStatus', {
  description: 'The status of a custom domain.',
  values: Object.fromEntries(
    HOST_STATUSES.map((status) => [status, { description: STATUS_DESCRIPTIONS[status] }]),
  ) as Record<(typeof HOST_STATUSES)[number], { description: string }>,
});

const DnsRecord = builder.simpleObject('DnsRecord', {
  description: 'A TXT record in DNS.',
  fields: (t) => ({
    name: t.string({ description: 'The name of the record.' }),
    value: t.string({ description: 'The value of the record.' }),
  }),
});

const HttpChallenge = builder.simpleObject('HttpChallenge', {
  description: 'A response for your own server to return before you point the domain at the gateway.',
  fields: (t) => ({
    url: t.string({ description: 'The URL that Tollgate requests. Redirects aren’t followed.' }),
    body: t.string({ description: 'The response body. The status must be 200.' }),
  }),
});

const GatewayHostStatus = builder.objectRef<HostStatus>('GatewayHostStatus').implement({
  description:
    'A project’s custom domain, and how to verify that you own it: publish either the record or the response.',
  fields: (t) => ({
    host: t.exposeString('host', { description: 'The domain.' }),
    status: t.field({ type: StatusEnum, description: 'The status of the domain.', resolve: ({ status }) => status }),
    activeHost: t.exposeString('activeHost', {
      nullable: true,
      description: 'The custom domain that the gateway serves now. While a new one is pending, this is the old one.',
    }),
    verifiedAt: t.expose('verifiedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When you verified that you own the domain.',
    }),
    lastCheckedAt: t.expose('lastCheckedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the domain was last checked.',
    }),
    nextCheckAt: t.expose('nextCheckAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the domain will be checked next. Null if it is checked only on request.',
    }),
    failingSince: t.expose('failingSince', {
      type: 'DateTime',
      nullable: true,
      description: 'When the checks started failing.',
    }),
    problem: t.exposeString('problem', { nullable: true, description: 'Why the last check failed.' }),
    dnsRecord: t.field({
      type: DnsRecord,
      nullable: true,
      description:
        'The record that verifies the domain. Null for development domains, which don’t need to be verified.',
      resolve: ({ dnsRecord }) => dnsRecord,
    }),
    httpChallenge: t.field({
      type: HttpChallenge,
      nullable: true,
      description: 'A response that you can publish instead of the record.',
      resolve: ({ httpChallenge }) => httpChallenge,
    }),
  }),
});

builder.objectFields(Project, (t) => ({
  gatewayHostStatus: t.field({
    type: GatewayHostStatus,
    nullable: true,
    description:
      'The status of the custom domain, and how to verify that you own it. Null if the project has no custom domain.',
    resolve: (project, _args, { services }) => services.hosts.status(project),
  }),
  defaultHost: t.string({
    nullable: true,
    description: 'The project’s default domain. Null if the operator of this service hasn’t set up default domains.',
    resolve: (project, _args, { services }) => defaultHostOf(project, services.gatewayAddresses),
  }),
  gatewayUrl: t.string({
    nullable: true,
    description:
      'The base URL of the endpoints: on the custom domain if it works, on `defaultHost`, or under ' +
      '`/gateway/{projectId}`. Null if this server’s public URL isn’t known.',
    resolve: (project, _args, { services }) => gatewayUrlOf(project, services.gatewayAddresses),
  }),
}));

builder.relayMutationField(
  'verifyGatewayHost',
  {
    description: 'The project whose custom domain to check.',
    inputFields: (t) => ({ projectId: t.id({ required: true, description: 'The project.' }) }),
  },
  {
    description:
      'Checks a project’s custom domain immediately. You can call this up to 6 times a minute. API keys can’t do this.',
    resolve: (_root, { input }, { services, viewer, identifyAgain }) =>
      services.hosts.verify(viewer, input.projectId, identifyAgain),
  },
  {
    description: 'The result of `verifyGatewayHost`.',
    outputFields: (t) => ({
      project: t.prismaField({
        type: Project,
        description: 'The project.',
        resolve: (query, project) => loadedRow(query, project),
      }),
      gatewayHostStatus: t.field({
        type: GatewayHostStatus,
        nullable: true,
        description: 'The result of the check. Null if the project has no custom domain.',
        resolve: (project, _args, { services }) => services.hosts.status(project),
      }),
    }),
  },
);
