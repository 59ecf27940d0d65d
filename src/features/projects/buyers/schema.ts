import { BuyerLimitPeriod } from '../../../generated/prisma/enums.ts';
import { builder } from '../../../schema/builder.ts';
import { costOfKilobytes } from '../../../schema/cost.ts';
import { checkedBy } from '../../../schema/input-rules.ts';
import { Project } from '../schema.ts';
import { buyerInput, buyerRulesInput } from './input.ts';
import type { RuleValues } from './rules.ts';
import { type BuyerRuleService, maxSpendUsdOf } from './service.ts';

declare module '../../../schema/context.ts' {
  interface Services {
    buyerRules: BuyerRuleService;
  }
}

const PERIOD_DESCRIPTIONS: Readonly<Record<BuyerLimitPeriod, string>> = {
  HOUR: 'An hour.',
  DAY: 'A day in UTC.',
  MONTH: 'A calendar month in UTC.',
};

const PeriodEnum = builder.enumType('BuyerLimitPeriod', {
  description: 'The period of a limit. Counts start over when it ends.',
  values: Object.fromEntries(
    Object.values(BuyerLimitPeriod).map((period) => [period, { description: PERIOD_DESCRIPTIONS[period] }]),
  ) as Record<BuyerLimitPeriod, { description: string }>,
});

/** A full list has 1,000 wallets with 45 bytes each. */
const LONG_LIST = { complexity: costOfKilobytes(45) } as const;

const BuyerRules = builder.objectRef<RuleValues>('BuyerRules').implement({
  description: 'Which wallets may pay a project, and how much each of them may buy.',
  fields: (t) => ({
    allowedWallets: t.exposeStringList('allowedWallets', {
      ...LONG_LIST,
      description: 'If there are any, only these wallets may pay. EIP-55 checksummed.',
    }),
    deniedWallets: t.exposeStringList('deniedWallets', {
      ...LONG_LIST,
      description: 'Wallets that may not pay, even if they are also in `allowedWallets`. EIP-55 checksummed.',
    }),
    period: t.field({
      type: PeriodEnum,
      description: 'The period that the limits apply to.',
      resolve: ({ period }) => period,
    }),
    maxRequests: t.exposeInt('maxRequests', {
      nullable: true,
      description: 'How many paid requests a wallet can make in a period. Null if there is no limit.',
    }),
    maxSpendUsd: t.string({
      nullable: true,
      description: 'How much a wallet can spend in a period, in USD. Null if there is no limit.',
      resolve: maxSpendUsdOf,
    }),
  }),
});

builder.objectField(Project, 'buyerRules', (t) =>
  t.field({
    type: BuyerRules,
    description: 'Which wallets may pay the project, and how much each of them may buy.',
    resolve: ({ id }, _args, { services, viewer }) => services.buyerRules.find(viewer, id),
  }),
);

const PROJECT_ID = { required: true, description: 'The project.' } as const;

builder.relayMutationField(
  'updateBuyerRules',
  {
    description: 'Changes to a project’s buyer rules. Omitted fields stay unchanged.',
    extensions: checkedBy(buyerRulesInput),
    inputFields: (t) => ({
      projectId: t.id(PROJECT_ID),
      allowedWallets: t.stringList({
        description:
          'The only wallets that may pay, up to 1,000. Replaces the list. An empty list means that every wallet may pay.',
      }),
      deniedWallets: t.stringList({
        description: 'Wallets that may not pay, up to 1,000. Replaces the list.',
      }),
      period: t.field({ type: PeriodEnum, description: 'The period that the limits apply to. Default: `DAY`.' }),
      maxRequests: t.int({
        description: 'How many paid requests a wallet can make in a period. Set to null to remove the limit.',
      }),
      maxSpendUsd: t.string({
        description:
          'How much a wallet can spend in a period, in USD, for example, "5". Set to null to remove the limit.',
      }),
    }),
  },
  {
    description: 'Changes which wallets may pay a project, and how much each of them may buy.',
    resolve: (_root, { input: { projectId, ...input } }, { services, viewer }) =>
      services.buyerRules.update(viewer, projectId, input),
  },
  {
    description: 'The result of `updateBuyerRules`.',
    outputFields: (t) => ({
      buyerRules: t.field({ type: BuyerRules, description: 'The changed rules.', resolve: (rules) => rules }),
    }),
  },
);

builder.relayMutationField(
  'denyBuyer',
  {
    description: 'The wallet to deny.',
    extensions: checkedBy(buyerInput),
    inputFields: (t) => ({
      projectId: t.id(PROJECT_ID),
      walletAddress: t.string({ required: true, description: 'The wallet.' }),
    }),
  },
  {
    description: 'Stops accepting payments from a wallet: adds it to the project’s denied wallets.',
    resolve: (_root, { input: { projectId, ...input } }, { services, viewer }) =>
      services.buyerRules.deny(viewer, projectId, input),
  },
  {
    description: 'The result of `denyBuyer`.',
    outputFields: (t) => ({
      buyerRules: t.field({ type: BuyerRules, description: 'The changed rules.', resolve: (rules) => rules }),
    }),
  },
);

builder.relayMutationField(
  'allowBuyer',
  {
    description: 'The wallet to allow.',
    extensions: checkedBy(buyerInput),
    inputFields: (t) => ({
      projectId: t.id(PROJECT_ID),
      walletAddress: t.string({ required: true, description: 'The wallet.' }),
    }),
  },
  {
    description:
      'Accepts payments from a wallet: removes it from the project’s denied wallets and, if only some wallets may pay, adds it to those.',
    resolve: (_root, { input: { projectId, ...input } }, { services, viewer }) =>
      services.buyerRules.allow(viewer, projectId, input),
  },
  {
    description: 'The result of `allowBuyer`.',
    outputFields: (t) => ({
      buyerRules: t.field({ type: BuyerRules, description: 'The changed rules.', resolve: (rules) => rules }),
    }),
  },
);
