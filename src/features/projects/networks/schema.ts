import type { Network } from '../../../gateway/chain/networks.ts';
import { builder } from '../../../schema/builder.ts';
import { ProjectModeEnum } from '../../../schema/scalars.ts';
import { Project } from '../schema.ts';

const PaymentNetwork = builder.objectRef<Network>('PaymentNetwork').implement({
  description: 'A blockchain network that buyers can pay on.',
  fields: (t) => ({
    network: t.exposeString('id', { description: 'CAIP-2 network, for example, `eip155:8453`.' }),
    title: t.exposeString('title', { description: 'Display name, for example, "Base".' }),
    mode: t.field({
      type: ProjectModeEnum,
      description: 'The mode of the projects that can use the network.',
      resolve: ({ isTestnet }) => (isTestnet ? 'TEST' : 'LIVE'),
    }),
    x402V1Name: t.string({
      nullable: true,
      description: 'The network’s name in x402 version 1. Null if only version 2 clients can pay on this network.',
      resolve: ({ v1Name }) => v1Name ?? null,
    }),
    asset: t.string({ description: 'The currency, for example, `USDC`.', resolve: ({ asset }) => asset.symbol }),
    assetAddress: t.string({
      description: 'The currency’s contract, EIP-55 checksummed.',
      resolve: ({ asset }) => asset.address,
    }),
  }),
});

builder.queryFields((t) => ({
  paymentNetworks: t.field({
    type: [PaymentNetwork],
    nullable: true,
    description: 'The networks that this server accepts payments on, in order of preference.',
    resolve: (_root, _args, { services }) => [...services.projects.networkRules.possible],
  }),
}));

builder.objectFields(Project, (t) => ({
  mode: t.field({
    type: ProjectModeEnum,
    description: 'Whether the project accepts real money. The mode never changes.',
    resolve: (project, _args, { services }) => services.projects.networkRules.modeOf(project),
  }),
  networks: t.exposeStringList('networks', {
    description:
      'The networks that buyers can pay on, as CAIP-2 IDs, in order of preference. An empty list means all of this server’s networks in ' +
      'the project’s mode.',
  }),
}));
