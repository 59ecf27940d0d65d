import type { ConnectorResponse } from '../exchange.ts';
import { parseJson, valueAt } from '../shared/classify.ts';

/** What a response from n8n says about the workflow, if n8n itself wrote it. */
export type N8nState =
  /** n8n is starting up, or a proxy in front of it responded. */
  | 'unavailable'
  /** No published workflow has a webhook with this path. Nothing ran. */
  | 'unpublished'
  /** The webhook doesn't accept POST. Nothing ran. */
  | 'wrong method'
  /** The Webhook node rejected its own settings. Nothing after it ran. */
  | 'not started'
  | 'failed'
  /** The run succeeded, but there was nothing to respond with. */
  | 'ran without result';

/** n8n sends this with status 200 to every request from when it starts listening until its database is up to date. */
const STARTING = /^\s*n8n is starting up\. Please wait\s*$/;

/**
 * The run succeeded, but then n8n couldn't find what the Webhook node is set to return. The wording differs between
 * versions 0, 1, and 2 of n8n.
 */
const WITHOUT_RESULT: readonly RegExp[] = [
  /^No item to return (was|got) found\b/,
  /^No item was found to return\b/,
  /^No binary data (was found to return|to return got found)\b/,
  /^No ["']responseBinaryPropertyName["'] is set\b/,
  /^["']responseBinaryPropertyName["'] is not a string\b/,
  /^The binary property .* which should be returned does not exist\b/s,
];

/** n8n runs a Webhook node before it starts the workflow. These are its errors, in versions 1 and 2. */
const NOT_STARTED: readonly RegExp[] = [
  /^Workflow Webhook Error: Workflow could not be started\b/,
  /^(No|Unused) Respond to Webhook node found in the workflow\b/,
  /^Webhook node not correctly configured\b/,
  /^The response mode '.*' is not valid\b/s,
];

/** A webhook or its workflow wasn't found. Proxies use other wordings. */
const UNPUBLISHED = /\bis not registered\b|^(Could not|Cannot) find\b|^(Active|Published) version not found\b/;

/**
 * Reads a response that may come from n8n itself, from the workflow, or from a proxy. n8n describes its own errors as
 * `{"code", "message"}`, and a failed run as `{"message":"Error in workflow"}`.
 *
 * https://github.com/n8n-io/n8n/tree/master/packages/cli/src/webhooks
 *
 * @returns undefined if the status alone is enough.
 */
export function stateOf({ statusCode, body }: Pick<ConnectorResponse, 'statusCode' | 'body'>): N8nState | undefined {
  if (statusCode === 200) return STARTING.test(body) ? 'unavailable' : undefined;
  const json = parseJson(body);
  const text = valueAt(json, 'message');
  const message = typeof text === 'string' ? text : '';
  const code = valueAt(json, 'code');
  if (statusCode === 404) {
    if (/^This webhook is not registered for POST requests\b/.test(message)) return 'wrong method';
    return UNPUBLISHED.test(message) ? 'unpublished' : 'unavailable';
  }
  if (statusCode !== 500) return undefined;
  const says = (words: readonly RegExp[]) => code === 0 && words.some((each) => each.test(message));
  if (says(WITHOUT_RESULT)) return 'ran without result';
  return says(NOT_STARTED) ? 'not started' : 'failed';
}
