import type { Outcome } from '../definition.ts';
import type { ConnectorResponse } from '../exchange.ts';
import { classifyByStatus, parseJson, retry, valueAt } from '../shared/classify.ts';

type Credentials = { apiKeySid?: string | undefined };

/** What a request does, for the reason if its credentials lack the permission. */
type Action = 'create messages' | 'read messages' | 'read the account';

const MISSING = "Twilio can't find the account. Check the account SID and the region.";

/** https://www.twilio.com/docs/api/errors. Errors use the same codes as messages that failed immediately. */
const ERROR_CODES: Readonly<Record<number, Outcome>> = {
  ...sameFor([10001, 20005, 30002], pause("The Twilio account isn't active. Add funds or reactivate it in Twilio.")),
  20008: pause("These are test credentials, which can't send to this number. Use live credentials."),
  20404: pause(MISSING),
  21211: pause('The recipient\'s number isn\'t valid. Change "To".'),
  21610: pause('The recipient opted out by replying STOP. They must text START to your number to opt in again.'),
  21614: pause('The recipient\'s number isn\'t a mobile number. Change "To".'),
  21212: pause('Twilio rejected the sender. Change "From".'),
  21408: pause("Your Twilio account can't send SMS to this country. Allow it under Geo permissions in Twilio."),
  21606: pause('This sender can\'t send SMS to the recipient\'s number. Change "From".'),
  21608: pause('A Twilio trial account can only send to verified numbers. Verify the number or upgrade the account.'),
  21611: retry("The sender's queue at Twilio is full."),
  21612: pause('Twilio has no route from this sender to the recipient\'s number. Change "From" or "To".'),
  21659: pause('The sender isn\'t one of this Twilio account\'s numbers. Change "From".'),
  21660: pause('The sender belongs to another Twilio account. Change "From".'),
  21661: pause('The sender\'s number can\'t send SMS. Change "From".'),
  ...sameFor([21701, 21705], pause('Twilio can\'t find the messaging service. Change "From".')),
  ...sameFor([21703, 21704], pause('The Twilio messaging service has no sender. Add a number to it.')),
  30032: pause('The toll-free sender isn\'t verified. Verify it in Twilio, or change "From".'),
  30034: pause("The sender isn't registered with US carriers. Register it (A2P 10DLC) in Twilio."),
};

/** What a rejected request to Twilio means. */
export function refusal(response: ConnectorResponse, settings: Credentials, action: Action, now?: Date): Outcome {
  const { statusCode } = response;
  const code = valueAt(parseJson(response.body), 'code');
  if (statusCode >= 400 && statusCode < 500 && statusCode !== 429) {
    const known = code === 20003 || code === 70051 ? unauthorized(code, statusCode, settings, action) : byCode(code);
    if (known) return known;
  }
  const detail = typeof code === 'number' ? `Twilio error ${code}` : undefined;
  return classifyByStatus('Twilio', response, { detail, missing: MISSING, now });
}

/**
 * Twilio returns 20003 with status 401 for credentials that it doesn't know, and with status 403 for credentials that
 * lack a permission. 70051 doesn't distinguish between an inactive account, unknown credentials, and a missing
 * permission.
 */
function unauthorized(code: 20003 | 70051, statusCode: number, { apiKeySid }: Credentials, action: Action): Outcome {
  const isKey = apiKeySid !== undefined;
  if (code === 20003 && statusCode === 401) {
    return isKey
      ? pause(
          'Twilio rejected the API key. Check its SID and secret, the account SID, and the region (Twilio error 20003).',
        )
      : pause('Twilio rejected the account SID and auth token. Check both, and the region (Twilio error 20003).');
  }
  return isKey
    ? pause(
        `The Twilio API key can't ${action}. Allow it to create and read messages, and check that it belongs to this account (Twilio error ${code}).`,
      )
    : pause(
        `Twilio doesn't let this auth token ${action}. Check that it belongs to this account and that the account is active (Twilio error ${code}).`,
      );
}

/** What one of Twilio's error codes means; undefined for unknown codes. */
export function byCode(code: unknown): Outcome | undefined {
  return ERROR_CODES[Number(code)];
}

function pause(text: string): Outcome {
  return { kind: 'pause', reason: text };
}

function sameFor(codes: readonly number[], outcome: Outcome): Record<number, Outcome> {
  return Object.fromEntries(codes.map((code) => [code, outcome]));
}
