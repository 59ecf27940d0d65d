import type { Command } from 'commander';
import type { Viewer } from '../../../packages/sdk/src/index.ts';
import { addExamples } from '../examples.ts';
import { print, printJson } from '../output.ts';
import { failureOf } from '../sdk-failure.ts';
import { addServiceOptions, openSession, type Session } from '../session.ts';

export function addWhoami(program: Command): void {
  addExamples(addServiceOptions(program.command('whoami')), 'tollgate whoami')
    .description('print who the credential belongs to, what it allows, and the account’s limits')
    .action((_options, command: Command) => whoami(openSession(command)));
}

async function whoami({ tollgate, signal, isJson }: Session): Promise<void> {
  const me = await tollgate.me.get({ signal }).catch((error) => Promise.reject(failureOf(error)));
  if (isJson) return printJson(me);
  for (const [name, value] of linesOf(me)) print(`${`${name}:`.padEnd(12)}${value}`);
}

function linesOf({ user, apiKeyId, projectId, scopes, email, expiresAt, ...account }: Viewer): [string, string][] {
  const { tier, projectCount, limits, isOperator } = account;
  const owner = `${user.subject} (${user.id}), from ${user.issuer}`;
  const credential: [string, string][] =
    apiKeyId === null
      ? [['user', owner], ...(email ? [['email', email] as [string, string]] : [])]
      : [
          ['API key', apiKeyId],
          ['owner', owner],
          ['project', projectId!],
          ['scopes', scopes!.join(', ')],
        ];
  const connectors = `${limits.connectorCount} of ${orUnlimited(limits.maxConnectors)} connectors`;
  const requests = `${orUnlimited(limits.requestsPerMinute)} requests per minute`;
  return [
    ...credential,
    ['expires', expiresAt ?? 'never'],
    ['tier', tier.toLowerCase()],
    ['projects', projectCount === null ? 'many' : String(projectCount)],
    ['limits', `${requests}, ${connectors}, ${orUnlimited(limits.maxWebhooksPerProject)} webhooks per project`],
    ...(isOperator ? [['operator', 'yes'] as [string, string]] : []),
  ];
}

const orUnlimited = (limit: number | null) => (limit === null ? 'unlimited' : String(limit));
