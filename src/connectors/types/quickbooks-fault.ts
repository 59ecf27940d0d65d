import type { Outcome } from '../definition.ts';
import type { ConnectorResponse } from '../exchange.ts';
import { type Booking, heldBooking, numberTaken, rejectedBooking } from '../shared/booking.ts';
import {
  classifyByStatus,
  parseJson,
  reason,
  retry,
  retryAfterSeconds,
  valueAt,
  vendorText,
} from '../shared/classify.ts';
import { rejectedToken } from '../shared/oauth-client.ts';
import { CONNECT_AGAIN, type Config } from './quickbooks-config.ts';

/** Codes: https://developer.intuit.com/app/developer/qbo/docs/develop/troubleshooting/error-codes */
const DUPLICATE_NUMBER = '6140';
/** Also used for duplicate numbers, with a different message. */
const CLOSED_PERIOD = '6210';
const STALE = '5010';
const DEPOSITED = '6540';
/** Some companies get other codes for a closed period, such as 6000. */
const CLOSED_WORDS = /account(?:ing)? period|books? (?:is|are|was|were|has been|have been) closed|closing date/i;
const DUPLICATE_WORDS = /duplicate doc/i;
/** The referenced object is unknown, deleted, or inactive. */
const MISSING_REFERENCE: ReadonlySet<string> = new Set(['2500', '610']);
const EXPIRED = '3200';
const THROTTLED = '3001';
const THROTTLE_WAIT_SECONDS = 60;
const CONFLICT_WAIT_SECONDS = 60;

const PAUSING: Readonly<Record<string, string>> = {
  3100: "The access token doesn't have access to this company. Check the company ID and the environment.",
  6190: 'The QuickBooks subscription has ended or is suspended. Renew it, then save this connector.',
};

/** Faults that would affect every receipt, because they don't depend on the event, and what to do about each one. */
const REPEATING: Readonly<Record<string, string>> = {
  120: 'Ask a company admin to give access to the user who connected the app.',
  5020: "Your QuickBooks plan or the user's role doesn't allow sales receipts.",
  5030: "Your QuickBooks plan doesn't support this.",
  6000: "Fix this in QuickBooks. If a tax or VAT rate is missing, set the connector's tax code ID.",
  6100: "Change the connector's tax code ID.",
  6430: "Change the connector's deposit account ID to a bank or other current asset account.",
};

/** How often a request is repeated that conflicted with someone's change or with an existing number. */
const MAX_CONFLICTS = 2;

export type Fault = { type: string; code: string; message: unknown };

/** Whether a response has a fault. Even a 200 can have one. */
export function hasFault(response: ConnectorResponse): boolean {
  return response.statusCode !== 200 || faultOf(response) !== undefined;
}

/** The fault in a response. Intuit's gateway calls it `fault`, and the accounting API calls it `Fault`. */
export function faultOf(response: ConnectorResponse): Fault | undefined {
  const json = parseJson(response.body);
  const fault = valueAt(json, 'Fault') ?? valueAt(json, 'fault');
  if (typeof fault !== 'object' || fault === null) return undefined;
  const error = valueAt(fault, 'Error', 0) ?? valueAt(fault, 'error', 0);
  const texts = ['Detail', 'detail', 'Message', 'message'].map((key) => valueAt(error, key));
  return {
    type: String(valueAt(fault, 'type') ?? '').toLowerCase(),
    // The gateway pads its codes with zeros: 003200.
    code: String(valueAt(error, 'code') ?? '').replace(/^0+/, ''),
    message: texts.find((text) => typeof text === 'string'),
  };
}

/** Whether a fault says that something the receipt refers to is missing. */
export function isReference(code: string | undefined): boolean {
  return code !== undefined && MISSING_REFERENCE.has(code);
}

/**
 * The outcome of a fault that depends on this receipt's day or number, so other receipts are still accepted. Undefined
 * if there is no such fault.
 */
export function classifyReceiptFault(
  fault: Fault | undefined,
  booking: Booking,
  { accessToken, attemptNumber }: { accessToken: string; attemptNumber: number },
): Outcome | undefined {
  if (!fault) return undefined;
  const { code } = fault;
  const text = typeof fault.message === 'string' ? fault.message : '';
  const hold = (instruction: string) => heldBooking(booking, instruction, messageOf(fault, accessToken));
  const mayRetry = attemptNumber <= MAX_CONFLICTS;
  if (code === DUPLICATE_NUMBER || (code === CLOSED_PERIOD && DUPLICATE_WORDS.test(text))) {
    if (!mayRetry) return numberTaken(booking);
    const found = `QuickBooks already has a document numbered ${booking.number}.`;
    return retry(`${found} The next attempt checks whether it is this receipt.`, CONFLICT_WAIT_SECONDS);
  }
  if (code === CLOSED_PERIOD || CLOSED_WORDS.test(text)) {
    return hold(`Reopen the books for ${booking.date} in QuickBooks (Account and settings > Advanced)`);
  }
  if (code === DEPOSITED) return hold(`Undo the deposit or reconciliation of ${booking.date} in QuickBooks`);
  if (code !== STALE) return undefined;
  return mayRetry
    ? retry('Someone is changing the same records in QuickBooks.', CONFLICT_WAIT_SECONDS)
    : hold('Save or close what is being edited in QuickBooks');
}

/** The outcome if the item, account, or tax code in the config doesn't exist. */
export function classifyReference(response: ConnectorResponse, accessToken: string): Outcome {
  const text = "QuickBooks can't find the item, the deposit account, or the tax code. Check their IDs in the config";
  return { kind: 'pause', reason: reason(`${text}: ${detailOf(faultOf(response), accessToken)}`) };
}

/**
 * The outcome of a response with a fault or with a status other than 200.
 *
 * @param booking what was to be booked, if anything.
 */
export function classifyFault(response: ConnectorResponse, config: Config, now: Date, booking?: Booking): Outcome {
  const { statusCode } = response;
  const fault = faultOf(response);
  const { type = '', code = '' } = fault ?? {};
  if (statusCode === 429 || code === THROTTLED) {
    return retry('QuickBooks is rate limiting requests.', retryAfterSeconds(response, now) ?? THROTTLE_WAIT_SECONDS);
  }
  if (statusCode === 401 || type.startsWith('authentication') || code === EXPIRED)
    return { kind: 'pause', reason: rejectedToken('QuickBooks', config, 'an hour', CONNECT_AGAIN) };
  if (statusCode === 403 || type.startsWith('authorization')) return { kind: 'pause', reason: PAUSING[3100]! };
  if (Object.hasOwn(PAUSING, code)) return { kind: 'pause', reason: PAUSING[code]! };
  if (statusCode >= 500 || type.startsWith('system') || type.startsWith('service')) {
    return retry("QuickBooks couldn't accept the receipt right now.", retryAfterSeconds(response, now));
  }
  if (!type && !code) return classifyByStatus('QuickBooks', response, { expected: [], now });
  const detail = detailOf(fault, config.accessToken);
  if (Object.hasOwn(REPEATING, code)) {
    return { kind: 'pause', reason: reason(`${REPEATING[code]} QuickBooks returned: ${detail}`) };
  }
  if (booking && fault) return rejectedBooking(booking, messageOf(fault, config.accessToken));
  return { kind: 'drop', reason: reason(`QuickBooks rejected the request: ${detail}`) };
}

function messageOf({ message, code }: Fault, accessToken: string) {
  return { vendor: 'QuickBooks', message: message ?? `code ${code}`, secrets: [accessToken] };
}

function detailOf(fault: Fault | undefined, accessToken: string): string {
  return vendorText(fault?.message, [accessToken]) || `code ${vendorText(fault?.code, [], 20)}`;
}
