import { z } from 'zod';
import { type BuildContext, type ConnectorEvent, defineConnector, type Outcome } from '../definition.ts';
import type { ConnectorRequest, ConnectorResponse } from '../exchange.ts';
import { headerSecretField, textField } from '../fields.ts';
import { alertFields, alertLookBack, whyNoAlert } from '../shared/alert.ts';
import {
  classifyByStatus,
  failedProbe,
  parseJson,
  reason,
  retry,
  retryAfterSeconds,
  valueAt,
  vendorText,
} from '../shared/classify.ts';
import { derivedUuid } from '../shared/derived-id.ts';
import { describeEvent, utcTime } from '../shared/message.ts';
import { oneLine, shorten } from '../shared/plain-text.ts';

const API_URL = 'https://api.linear.app/graphql';
const CREATE_ISSUE = 'mutation($input:IssueCreateInput!){issueCreate(input:$input){success issue{id identifier url}}}';
const FIND_TEAM = 'query($id:String!){viewer{id} team(id:$id){id key name}}';
const HIGH = 2;
const LOW = 4;
const MAX_TITLE_LENGTH = 200;
const RATE_LIMIT_WAIT_SECONDS = 300;
const PASSING: ReadonlySet<string> = new Set(['internal error', 'lock timeout', 'network error', 'bootstrap error']);

const config = z.strictObject({
  apiKey: headerSecretField({
    title: 'API key',
    description: 'A personal API key (lin_api_…) or an OAuth access token that can create issues.',
  }),
  teamId: textField({
    title: 'Team ID',
    description:
      'The UUID of the team to create issues in. To get it, use "Copy model UUID" in Linear\'s command menu.',
    example: '9cfb482a-81e3-4154-b5b9-2c805e70a02d',
    pattern: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
    hint: 'Must be the UUID of the team, not its key.',
  }),
  ...alertFields('issue'),
});
type Config = z.infer<typeof config>;

/** Opens issues for events that need someone's attention (https://linear.app/developers/graphql). */
export const linear = defineConnector<Config>({
  type: 'linear',
  title: 'Linear',
  category: 'Project Management',
  description:
    'Opens issues for failing settlements and upstreams (one per endpoint, reason, and day) and for customer milestones.',
  documentationUrl: 'https://linear.app/developers/graphql#personal-api-keys',
  config,
  // A price change doesn't need an issue, because the seller made it.
  supportsEvent: (eventType) => eventType === 'payment.failed' || eventType === 'customer.milestone',
  vendorLimit: {
    count: 2500,
    perSeconds: 3600,
    burst: 10,
    documentationUrl: 'https://linear.app/developers/rate-limiting',
  },

  lookBack: alertLookBack,

  build([event], config, context) {
    const skip =
      event.type === 'payment.failed' && !event.test ? whyNoAlert(event, config, context, 'issue') : undefined;
    if (skip) return { skip };
    const input = {
      id: derivedUuid(issueKey(event), context.connectorId),
      teamId: config.teamId,
      title: titleOf(event, context),
      description: descriptionOf(event, context),
      priority: event.type === 'payment.failed' && !event.test ? HIGH : LOW,
    };
    return graphql(config, CREATE_ISSUE, { input });
  },

  classify(response, { config, now }) {
    const problem = classifyProblem(response, config, now);
    if (problem) return problem;
    const created = valueAt(parseJson(response.body), 'data', 'issueCreate');
    if (created === undefined) return retry('Linear returned an unexpected response.');
    if (valueAt(created, 'success') !== true) return { kind: 'drop', reason: "Linear didn't create the issue." };
    const identifier = vendorText(valueAt(created, 'issue', 'identifier'), [config.apiKey], 40);
    return { kind: 'delivered', ...(identifier && { note: `Issue ${identifier}.` }) };
  },

  probe: {
    build: (config) => graphql(config, FIND_TEAM, { id: config.teamId }),
    classify(response, config) {
      const problem = classifyProblem(response, config, new Date(0));
      if (problem) return failedProbe('Linear', problem);
      const name = vendorText(valueAt(parseJson(response.body), 'data', 'team', 'name'), [config.apiKey], 60);
      if (!name) return { ok: false, message: "The key works, but Linear can't find the team." };
      return { ok: true, message: `The key works and has access to the team ${name}.` };
    },
  },
});

/** A broken endpoint fails for every payer, so its failures on the same day for the same reason share one issue. */
function issueKey(event: ConnectorEvent): string {
  if (event.type !== 'payment.failed' || event.test) return event.id;
  return `payment.failed:${event.data.endpointId}:${event.data.reason}:${event.timestamp.slice(0, 10)}`;
}

function titleOf(event: ConnectorEvent, context: BuildContext): string {
  const { title } = describeEvent(event, context);
  return shorten(
    event.type === 'payment.failed' ? `${title} (${oneLine(event.data.endpointPath)})` : title,
    MAX_TITLE_LENGTH,
  );
}

/** Values are in code spans, where Linear doesn't format text or create mentions. */
function descriptionOf(event: ConnectorEvent, context: BuildContext): string {
  const message = describeEvent(event, context);
  const lines = message.facts.map(({ label, value }) => `- **${label}:** ${code(value)}`);
  lines.push(`- **Time:** ${code(utcTime(message.at))}`, `- **Event:** ${code(message.eventId)}`);
  if (event.type === 'payment.failed') {
    lines.push(
      '',
      "This is the day's first failure for this reason at this endpoint. Later failures on the same UTC day won't open another issue.",
    );
  }
  if (message.url) lines.push('', `[Open the event](<${message.url}>)`);
  return lines.join('\n');
}

function code(value: string): string {
  return `\`${value.replaceAll('`', "'")}\``;
}

function graphql(config: Config, query: string, variables: Record<string, unknown>): ConnectorRequest {
  return {
    method: 'POST',
    url: API_URL,
    headers: {
      // A personal key is sent without the prefix that OAuth tokens need.
      authorization: config.apiKey.startsWith('lin_api_') ? config.apiKey : `Bearer ${config.apiKey}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ query, variables }),
  };
}

/**
 * The error in a response, if any. Linear returns errors with status 200 as well as 400, so the body determines what
 * the response means.
 */
function classifyProblem(response: ConnectorResponse, { apiKey }: Config, now: Date): Outcome | undefined {
  const errors = valueAt(parseJson(response.body), 'errors');
  const error = Array.isArray(errors) && errors.length > 0 ? errors[0] : undefined;
  const kind = String(valueAt(error, 'extensions', 'type') ?? '').toLowerCase();
  const errorCode = String(valueAt(error, 'extensions', 'code') ?? '').toUpperCase();
  const message = vendorText(valueAt(error, 'message'), [apiKey]);
  const shown = vendorText(valueAt(error, 'extensions', 'userPresentableMessage'), [apiKey]) || message;
  if (/conflict on insert of issue/i.test(message)) return { kind: 'delivered', note: 'The issue already existed.' };
  if (response.statusCode === 429 || errorCode === 'RATELIMITED' || kind === 'ratelimited') {
    return retry('Linear is rate limiting requests.', waitSeconds(response, now));
  }
  if (response.statusCode === 401 || errorCode === 'AUTHENTICATION_ERROR' || kind === 'authentication error') {
    return { kind: 'pause', reason: 'Linear rejected the API key. Save a new one.' };
  }
  if (response.statusCode === 403 || errorCode === 'FORBIDDEN' || kind === 'forbidden') {
    return { kind: 'pause', reason: "The API key can't create issues in this team. Check its permissions in Linear." };
  }
  if (kind === 'usage limit exceeded')
    return {
      kind: 'pause',
      reason: 'Your Linear plan has reached its issue limit. Upgrade it or archive issues, then save this connector.',
    };
  if (error && PASSING.has(kind)) return retry(`Linear couldn't accept the issue right now: ${shown}`);
  if (response.statusCode >= 500) return classifyByStatus('Linear', response, { now });
  if (error && /entity not found: team/i.test(`${message} ${shown}`)) {
    return { kind: 'disable', reason: "Linear can't find the team. Check the team ID." };
  }
  if (error) return { kind: 'drop', reason: reason(`Linear rejected the issue: ${shown}`) };
  return response.statusCode === 200 ? undefined : classifyByStatus('Linear', response, { expected: [], now });
}

/** `x-ratelimit-requests-reset` is the time when the limit resets, in milliseconds. */
function waitSeconds(response: ConnectorResponse, now: Date): number {
  const reset = Number(response.headers['x-ratelimit-requests-reset']);
  const untilReset = reset > 0 ? (reset - now.getTime()) / 1000 : RATE_LIMIT_WAIT_SECONDS;
  return retryAfterSeconds(response, now) ?? Math.max(untilReset, 1);
}
