import type { Command } from 'commander';
import {
  CliBlockUserDocument,
  CliHealthDocument,
  type CliHealthQuery,
  CliRequeueDocument,
  CliUnblockUserDocument,
  CliUpdateUserDocument,
  CliUserDocument,
  type CliUserFragment,
  CliUsersDocument,
  type OperatorUserFilter,
  type Tier,
  type UpdateUserInput,
} from '../../generated/cli-documents.ts';
import { isRequestsPerMinute, parseTier, TIERS } from '../../limits/tiers.ts';
import { addExamples } from '../examples.ts';
import { Failure } from '../failure.ts';
import { listOf, note, print, printJson, timeOf } from '../output.ts';
import { openSession, type Session } from '../session.ts';

type ListOptions = {
  issuer?: string;
  subject?: string;
  tier?: string;
  blocked?: true;
  active?: true;
  from?: string;
  to?: string;
};

type RequeueOptions = { from?: string; rate: string; dryRun?: true };
type Health = NonNullable<CliHealthQuery['operatorHealth']>['nodes'][number];

const PAGE_SIZE = 100;
const TIER_NAMES = Object.keys(TIERS).map((tier) => tier.toLowerCase());
const NOT_AN_OPERATOR = 'Only operators can do this, with their own token. See the OPERATORS setting.';
const USER = 'usr_…, or the subject of the user’s tokens';

/** Commands for the people who run the server. */
export function addUsers(program: Command): void {
  const users = addExamples(
    program.command('users'),
    'tollgate users list --tier enterprise',
    "tollgate users set-tier 'auth0|1234' business",
  ).description('see users, set their tiers and rate limits, and block them (for operators)');

  addExamples(
    addOptions(users.command('list'), 'print JSON Lines: one line per user'),
    'tollgate users list --tier enterprise',
    'tollgate users list --blocked --json',
  )
    .description('print users, newest first')
    .option('--issuer <url>', 'only users of this issuer')
    .option('--subject <subject>', 'only users with this subject')
    .option('--tier <list>', `only users on these tiers: ${TIER_NAMES.join(', ')}`)
    .option('--blocked', 'only users who are blocked')
    .option('--active', 'only users who aren’t blocked')
    .option('--from <time>', 'only users created at or after this time: a duration such as 7d, or a timestamp')
    .option('--to <time>', 'only users created before this time')
    .action((_options, command: Command) => list(openAsOperator(command), command.opts<ListOptions>()));

  addExamples(addOptions(users.command('get')), 'tollgate users get usr_01jc9x2v5qe3w8k4m6n7p9r0st')
    .argument('<user>', USER)
    .description('print a user and the number of resources in the account')
    .action((user: string, _options, command: Command) => get(openAsOperator(command), user));

  addExamples(
    addOptions(users.command('set-tier')),
    "tollgate users set-tier 'auth0|1234' business",
    "tollgate users set-tier 'auth0|1234' issuer",
  )
    .argument('<user>', USER)
    .argument('<tier>', `${TIER_NAMES.join(', ')}, or issuer to let the user’s tokens set the tier again`)
    .description('move a user to a tier, effective immediately')
    .action((user: string, tier: string, _options, command: Command) =>
      update(openAsOperator(command), user, tier === 'issuer' ? { tierSetBy: 'ISSUER' } : { tier: tierOf(tier) }),
    );

  addExamples(
    addOptions(users.command('set-rate')),
    "tollgate users set-rate 'auth0|1234' 5000",
    "tollgate users set-rate 'auth0|1234' unlimited",
  )
    .argument('<user>', USER)
    .argument('<requests-per-minute>', '1 to 1,000,000, or unlimited')
    .description('set an enterprise user’s rate limit, effective immediately')
    .action((user: string, rate: string, _options, command: Command) =>
      update(openAsOperator(command), user, { requestsPerMinute: rateOf(rate) }),
    );

  addExamples(
    addOptions(users.command('block')),
    "tollgate users block 'auth0|1234' --reason 'Unpaid invoice. Write to billing@example.com.'",
  )
    .argument('<user>', USER)
    .requiredOption('--reason <text>', 'reason shown to the user')
    .description('reject a user’s requests and take their endpoints offline, effective immediately')
    .action((user: string, _options, command: Command) =>
      block(openAsOperator(command), user, command.opts<{ reason: string }>().reason),
    );

  addExamples(addOptions(users.command('unblock')), "tollgate users unblock 'auth0|1234'")
    .argument('<user>', USER)
    .description('unblock a user')
    .action((user: string, _options, command: Command) => unblock(openAsOperator(command), user));
  addCare(users);
}

/** Commands about what is in accounts, which operators don't see. */
function addCare(users: Command): void {
  addExamples(
    addOptions(users.command('health'), 'print JSON Lines: one line per account'),
    'tollgate users health',
    'tollgate users health --json',
  )
    .description('print the accounts in which something needs attention, worst first')
    .action((_options, command: Command) => health(openAsOperator(command)));

  addExamples(
    addOptions(users.command('requeue')),
    "tollgate users requeue 'auth0|1234' --from 24h --dry-run",
    "tollgate users requeue 'auth0|1234' --from 24h",
  )
    .argument('<user>', USER)
    .option('--from <time>', 'only deliveries created at or after this time: a duration such as 24h, or a timestamp')
    .option('--rate <number>', 'how many deliveries to queue per second in each project, 1 to 1000', '50')
    .option('--dry-run', 'print how many deliveries there are, and resend nothing')
    .description('resend an account’s failed deliveries')
    .action((user: string, _options, command: Command) =>
      requeue(openAsOperator(command), user, command.opts<RequeueOptions>()),
    );
}

/** The options that all commands for the service share, except the options for API keys and projects. */
function addOptions(command: Command, json = 'print one JSON document'): Command {
  return command
    .addOption(
      command.createOption('--url <url>', 'URL of the service').env('TOLLGATE_URL').default('http://localhost:4000'),
    )
    .addOption(command.createOption('--token <token>', 'an operator’s token').env('TOLLGATE_TOKEN'))
    .option('--json', json);
}

/** @throws Failure if there is no token. API keys can't be used. */
function openAsOperator(command: Command): Session {
  if (command.opts<{ token?: string }>().token) return openSession(command);
  throw new Failure('usage', 'Missing token. Set TOLLGATE_TOKEN to the token of an operator.');
}

async function list(
  session: Session,
  { issuer, subject, tier, blocked, active, from, to }: ListOptions,
): Promise<void> {
  if (blocked && active) throw new Failure('usage', 'Use either --blocked or --active.');
  const filter: OperatorUserFilter = {
    ...(issuer !== undefined && { issuer }),
    ...(subject !== undefined && { subject }),
    ...(tier !== undefined && { tiers: listOf(tier).map(tierOf) }),
    ...((blocked || active) && { isBlocked: blocked === true }),
    ...(from !== undefined && { from: timeOf(from, '--from') }),
    ...(to !== undefined && { to: timeOf(to, '--to') }),
  };
  for (let after: string | null = null; ; ) {
    const { nodes, pageInfo } = await page(session, filter, after);
    for (const user of nodes) show(session, user);
    if (!pageInfo.hasNextPage) return;
    after = pageInfo.endCursor;
  }
}

async function page({ client, signal }: Session, filter: OperatorUserFilter, after: string | null) {
  const { operatorUsers } = await client.run(CliUsersDocument, { filter, first: PAGE_SIZE, after }, signal);
  if (!operatorUsers) throw new Failure('refused', NOT_AN_OPERATOR);
  return operatorUsers;
}

async function get(session: Session, given: string): Promise<void> {
  const id = await idOf(session, given);
  const { operatorUser: user } = await session.client.run(CliUserDocument, { id }, session.signal);
  if (!user) throw new Failure('refused', `User ${id} not found. ${NOT_AN_OPERATOR}`);
  show(session, user);
  if (session.isJson) return;
  const { projectCount, connectorCount, waitingDeliveryCount } = user.usage;
  print(`  issuer:   ${user.issuer}`);
  print(`  created:  ${user.createdAt}`);
  print(
    `  has:      ${projectCount} projects, ${connectorCount} connectors, ${waitingDeliveryCount} waiting deliveries`,
  );
}

async function update(session: Session, given: string, values: Omit<UpdateUserInput, 'id'>): Promise<void> {
  const input = { id: await idOf(session, given), ...values };
  const { updateUser } = await session.client.run(CliUpdateUserDocument, { input }, session.signal);
  show(session, updateUser!.user);
}

async function block(session: Session, given: string, reason: string): Promise<void> {
  const input = { id: await idOf(session, given), reason };
  const { blockUser } = await session.client.run(CliBlockUserDocument, { input }, session.signal);
  show(session, blockUser!.user);
}

async function unblock(session: Session, given: string): Promise<void> {
  const input = { id: await idOf(session, given) };
  const { unblockUser } = await session.client.run(CliUnblockUserDocument, { input }, session.signal);
  show(session, unblockUser!.user);
}

async function health({ client, signal, isJson }: Session): Promise<void> {
  for (let after: string | null = null; ; ) {
    const found: CliHealthQuery = await client.run(CliHealthDocument, { first: PAGE_SIZE, after }, signal);
    if (!found.operatorHealth) throw new Failure('refused', NOT_AN_OPERATOR);
    const { nodes, pageInfo }: NonNullable<CliHealthQuery['operatorHealth']> = found.operatorHealth;
    for (const account of nodes) isJson ? printJson(account) : print(healthLineOf(account));
    if (nodes.length === 0 && !isJson) note('Nothing needs attention.');
    if (!pageInfo.hasNextPage) return;
    after = pageInfo.endCursor;
  }
}

/** Only what isn't zero, in the order that accounts are sorted by. */
function healthLineOf({ userId, subject, blockedAt, ...account }: Health): string {
  const counts: [count: number, what: string, since?: string | null][] = [
    [account.unresolvedPaymentCount, 'unresolved payments', account.unresolvedSince],
    [account.disabledDestinationCount, 'disabled destinations'],
    [account.pausedDestinationCount, 'paused destinations'],
    [account.failingDestinationCount, 'failing destinations'],
    [account.failedDeliveryCount, 'failed deliveries'],
    [account.overdueDeliveryCount, 'overdue deliveries', account.overdueSince],
  ];
  const shown = counts.flatMap(([count, what, since]) =>
    count > 0 ? [`${what}: ${count}${since ? ` since ${since}` : ''}`] : [],
  );
  return [userId, subject, ...(blockedAt ? ['blocked'] : []), shown.join(', ')].join('  ');
}

async function requeue(session: Session, given: string, { from, rate, dryRun }: RequeueOptions): Promise<void> {
  const maxPerSecond = Number(rate);
  if (!Number.isInteger(maxPerSecond)) throw new Failure('usage', '--rate must be a whole number.');
  const input = {
    id: await idOf(session, given),
    maxPerSecond,
    ...(from !== undefined && { from: timeOf(from, '--from') }),
    ...(dryRun && { dryRun }),
  };
  const { requeueDeliveries } = await session.client.run(CliRequeueDocument, { input }, session.signal);
  const { total, replayCount } = requeueDeliveries!;
  if (session.isJson) printJson({ total, replayCount });
  else print(`failed deliveries: ${total}${dryRun ? '' : `  replays started: ${replayCount}`}`);
}

/** The ID of the user with the given ID or subject. @throws Failure unless exactly one user has the subject. */
async function idOf(session: Session, given: string): Promise<string> {
  if (/^usr_[0-9a-z]{26}$/.test(given)) return given;
  const { nodes } = await page(session, { subject: given }, null);
  if (nodes.length === 1) return nodes[0]!.id;
  if (nodes.length === 0) throw new Failure('refused', `There is no user with the subject ${given}.`);
  const ids = nodes.map(({ id, issuer }) => `\n  ${id}  ${issuer}`).join('');
  throw new Failure('usage', `Several users have the subject ${given}. Use an ID:${ids}`);
}

function show({ isJson }: Session, user: CliUserFragment): void {
  if (isJson) printJson(user);
  else print(lineOf(user));
}

function lineOf({ id, subject, tier, requestsPerMinute, ...user }: CliUserFragment): string {
  return [
    ...[id, subject, tier],
    ...(tier === 'ENTERPRISE' ? [`${requestsPerMinute ?? 'unlimited'} requests per minute`] : []),
    ...(user.tierSetBy === 'OPERATOR' ? ['set by an operator'] : []),
    ...(user.isOperator ? ['operator'] : []),
    ...(user.blockedAt ? [`blocked since ${user.blockedAt}: ${user.blockedReason}`] : []),
  ].join('  ');
}

function tierOf(name: string): Tier {
  const tier = parseTier(name);
  if (!tier) throw new Failure('usage', `Unknown tier "${name}". Use one of ${TIER_NAMES.join(', ')}.`);
  return tier;
}

/** @returns null for unlimited. */
function rateOf(text: string): number | null {
  if (text === 'unlimited') return null;
  const rate = /^\d{1,7}$/.test(text) ? Number(text) : undefined;
  if (!isRequestsPerMinute(rate)) {
    throw new Failure('usage', 'The rate limit must be a number of requests per minute, 1 to 1000000, or unlimited.');
  }
  return rate;
}
