import type { TestResponse } from '../../../support/receiver.ts';
import { json } from './vendor.ts';

const PRODUCTION_HINT =
  'The workflow must be active for a production URL to run successfully. You can activate the workflow using the toggle ' +
  "in the top-right of the editor. Note that unlike test URL calls, production URL calls aren't shown on the canvas (only " +
  'in the executions list)';

/** Recorded responses of n8n 2.41.1 to a POST to a production URL, except where noted. */
export const N8N_RESPONSES = {
  started: json(200, { message: 'Workflow was started' }),
  /** A Filter node was the last one, and dropped the item. The run is shown as successful. */
  noItem: json(500, { code: 0, message: 'No item to return was found' }),
  /** The same, if the Webhook node is set to return the first entry's file. */
  noFile: json(500, { code: 0, message: 'No binary data was found to return' }),
  failedRun: json(500, { message: 'Error in workflow' }),
  noRespondNode: json(500, { code: 0, message: 'No Respond to Webhook node found in the workflow' }),
  /** Not recorded: the words in n8n's source for runs that were canceled, among others. */
  problem: json(500, { code: 0, message: 'There was a problem executing the workflow' }),
  /** Basic Auth without credentials. */
  unauthorized: { statusCode: 401, body: 'Authorization is required!' },
  /** Header Auth with a missing or wrong header. The option Ignore Bots has the same response. */
  forbidden: { statusCode: 403, body: 'Authorization data is wrong!' },
  addressNotAllowed: { statusCode: 403, body: 'IP is not allowed to access the webhook!' },
  /** Not recorded: the words in n8n's source for when it has lost its database. */
  databaseNotReady: json(503, { code: 503, message: 'Database is not ready!' }),
  wrongMethod: json(404, {
    code: 404,
    message: 'This webhook is not registered for POST requests. Did you mean to make a GET request?',
  }),
  /** While n8n starts up, until its database is up to date: longer after an update than after a restart. */
  startingUp: page(200, 'n8n is starting up. Please wait'),
} satisfies Record<string, TestResponse>;

/** The workflow isn't published, or not yet: n8n adds webhooks at the end of its startup. */
export function unpublished(path: string): TestResponse {
  return json(404, {
    code: 404,
    message: `The requested webhook "POST ${path}" is not registered.`,
    hint: PRODUCTION_HINT,
  });
}

/** While n8n starts up: it listens, and its database is up to date, but it has no routes for webhooks yet. */
export function noRoute(path: string): TestResponse {
  const head =
    '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>Error</title>\n</head>\n<body>';
  return page(404, `${head}\n<pre>Cannot POST /webhook/${path}</pre>\n</body>\n</html>\n`);
}

function page(statusCode: number, body: string): TestResponse {
  return { statusCode, headers: { 'content-type': 'text/html; charset=utf-8' }, body };
}
