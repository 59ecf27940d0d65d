import type { Command } from 'commander';
import {
  type BuyerLimitPeriod,
  CliAllowBuyerDocument,
  CliBuyerRulesDocument,
  type CliBuyerRulesFragment,
  CliDenyBuyerDocument,
  CliUpdateBuyerRulesDocument,
} from '../../generated/cli-documents.ts';
import { addExamples } from '../examples.ts';
import { Failure } from '../failure.ts';
import { print, printJson } from '../output.ts';
import { addServiceOptions, foundProject, openSession, type Session } from '../session.ts';

type LimitOptions = { requests?: string; spend?: string; period?: string };

const EXAMPLE_WALLET = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const PERIODS: readonly BuyerLimitPeriod[] = ['HOUR', 'DAY', 'MONTH'];
const PERIOD_NAMES = PERIODS.map((period) => period.toLowerCase()).join(', ');
const NO_LIMIT = 'none';

/** Commands for a project's rules for buyers. */
export function addBuyers(program: Command): void {
  const buyers = addExamples(
    program.command('buyers'),
    `tollgate buyers deny ${EXAMPLE_WALLET}`,
    'tollgate buyers limit --requests 100 --period day',
  ).description('decide which wallets may pay a project, and how much each of them may buy');

  addExamples(addServiceOptions(buyers.command('show')), 'tollgate buyers show --json')
    .description('print the allowed and denied wallets, and the limits')
    .action((_options, command: Command) => show(openSession(command)));

  addExamples(addServiceOptions(buyers.command('deny')), `tollgate buyers deny ${EXAMPLE_WALLET}`)
    .argument('<wallet>', 'the wallet’s address')
    .description('stop accepting payments from a wallet')
    .action(async (walletAddress: string, _options, command: Command) => {
      const session = openSession(command);
      const input = { projectId: await session.projectId(), walletAddress };
      const { denyBuyer } = await session.client.run(CliDenyBuyerDocument, { input }, session.signal);
      printRules(session, denyBuyer!.buyerRules);
    });

  addExamples(addServiceOptions(buyers.command('allow')), `tollgate buyers allow ${EXAMPLE_WALLET}`)
    .argument('<wallet>', 'the wallet’s address')
    .description('accept payments from a wallet that was denied or, if only some wallets may pay, from one more')
    .action(async (walletAddress: string, _options, command: Command) => {
      const session = openSession(command);
      const input = { projectId: await session.projectId(), walletAddress };
      const { allowBuyer } = await session.client.run(CliAllowBuyerDocument, { input }, session.signal);
      printRules(session, allowBuyer!.buyerRules);
    });

  addExamples(
    addServiceOptions(buyers.command('limit')),
    'tollgate buyers limit --requests 100 --period day',
    'tollgate buyers limit --requests none --spend 20 --period month',
  )
    .option('--requests <number>', `paid requests per wallet and period, or \`${NO_LIMIT}\``)
    .option('--spend <usd>', `USD per wallet and period, such as 5, or \`${NO_LIMIT}\``)
    .option('--period <period>', `the period in UTC: ${PERIOD_NAMES}`)
    .description('limit what each wallet may buy in a period')
    .action((_options, command: Command) => limit(openSession(command), command.opts<LimitOptions>()));
}

async function show(session: Session): Promise<void> {
  const projectId = await session.projectId();
  const { project } = await session.client.run(CliBuyerRulesDocument, { projectId }, session.signal);
  printRules(session, foundProject(project, projectId).buyerRules);
}

async function limit(session: Session, { requests, spend, period }: LimitOptions): Promise<void> {
  if (!requests && !spend && !period) throw new Failure('usage', 'Specify --requests, --spend, or --period.');
  const input = {
    projectId: await session.projectId(),
    ...(requests && { maxRequests: requests === NO_LIMIT ? null : numberOf(requests) }),
    ...(spend && { maxSpendUsd: spend === NO_LIMIT ? null : spend }),
    ...(period && { period: periodOf(period) }),
  };
  const { updateBuyerRules } = await session.client.run(CliUpdateBuyerRulesDocument, { input }, session.signal);
  printRules(session, updateBuyerRules!.buyerRules);
}

function printRules({ isJson }: Session, rules: CliBuyerRulesFragment): void {
  if (isJson) printJson(rules);
  else for (const line of linesOf(rules)) print(line);
}

function linesOf(rules: CliBuyerRulesFragment): string[] {
  const { allowedWallets, deniedWallets, period, maxRequests, maxSpendUsd } = rules;
  const per = ` per ${period.toLowerCase()} and wallet (UTC)`;
  return [
    `Allowed: ${allowedWallets.join(' ') || 'every wallet'}`,
    `Denied: ${deniedWallets.join(' ') || 'none'}`,
    `Requests: ${maxRequests === null ? 'no limit' : maxRequests + per}`,
    `Spend: ${maxSpendUsd === null ? 'no limit' : `${maxSpendUsd} USD${per}`}`,
  ];
}

function numberOf(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new Failure('usage', `--requests must be a whole number or \`${NO_LIMIT}\`, not "${text}".`);
}

function periodOf(text: string): BuyerLimitPeriod {
  const period = PERIODS.find((each) => each.toLowerCase() === text.toLowerCase());
  if (!period) throw new Failure('usage', `Unknown period "${text}". Use one of ${PERIOD_NAMES}.`);
  return period;
}
