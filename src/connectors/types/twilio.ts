import { z } from 'zod';
import { type ClassifyContext, defineConnector, type Outcome, type ProbeOutcome } from '../definition.ts';
import type { ConnectorRequest, ConnectorResponse } from '../exchange.ts';
import { choiceField, headerSecretField, textField } from '../fields.ts';
import { failedProbe, parseJson, reason, retry, valueAt } from '../shared/classify.ts';
import { describeEvent, type Message } from '../shared/message.ts';
import { cutGsmText, gsmLength, toGsmText } from './gsm-text.ts';
import { byCode, refusal } from './twilio-error.ts';

const SMS_LENGTH = 160;
const MIN_TITLE_LENGTH = 60;
const VALIDITY_SECONDS = 4 * 60 * 60;

/** Each region has its own host and its own auth token. */
const HOSTS = { us1: 'https://api.twilio.com', ie1: 'https://api.dublin.ie1.twilio.com' } as const;

const fields = z.strictObject({
  accountSid: textField({
    title: 'Account SID',
    description: "Your Twilio account's SID, even if you use an API key.",
    example: 'AC00000000000000000000000000000000',
    pattern: /^AC[0-9a-fA-F]{32}$/,
    hint: 'Must be an account SID: "AC" followed by 32 hexadecimal digits. An API key\'s SID ("SK…") is a separate field.',
  }),
  authToken: headerSecretField({
    title: 'Auth token',
    description: "Your Twilio account's auth token. Required unless you enter an API key.",
  }).optional(),
  from: textField({
    title: 'From',
    description: 'A Twilio number, a short code, a sender name, or the SID of a messaging service.',
    example: '+15005550006',
    pattern: /^(\+[1-9]\d{6,14}|\d{5,6}|MG[0-9a-fA-F]{32}|(?=.*[A-Za-z])[A-Za-z0-9 &+_-]{1,11})$/,
    hint: 'Must be a number such as +15005550006, a sender name of at most 11 letters and digits, or the SID (MG…) of a messaging service.',
  }),
  to: textField({
    title: 'To',
    description: 'The mobile number that receives the SMS, with its country code.',
    example: '+15558675310',
    pattern: /^\+[1-9]\d{6,14}$/,
    hint: 'Must be a number with its country code, such as +15558675310.',
  }),
  region: choiceField(['us1', 'ie1'], {
    title: 'Region',
    description: 'The Twilio region of the account and its credentials: us1 (default) or ie1.',
    example: 'us1',
    decidesAddress: true,
  }).optional(),
  apiKeySid: textField({
    title: 'API key SID',
    description: "An API key's SID, to use the key instead of the auth token.",
    example: 'SK00000000000000000000000000000000',
    pattern: /^SK[0-9a-fA-F]{32}$/,
    hint: 'Must be the SID of an API key: "SK" followed by 32 hexadecimal digits.',
  }).optional(),
  apiKeySecret: headerSecretField({
    title: 'API key secret',
    description: "The API key's secret. Twilio shows it only once.",
  }).optional(),
});

/** Checks the rules below even if a field is invalid, so that all problems are reported together. */
const when = ({ value }: { value: unknown }) => typeof value === 'object' && value !== null;

/** An auth token is required, or both parts of an API key. */
const config = fields
  .refine(({ authToken, apiKeySid, apiKeySecret }) => authToken ?? apiKeySid ?? apiKeySecret, {
    path: ['authToken'],
    when,
    message: 'Required unless you send `apiKeySid` and `apiKeySecret`.',
  })
  .refine(({ apiKeySid, apiKeySecret }) => apiKeySid !== undefined || apiKeySecret === undefined, {
    path: ['apiKeySid'],
    when,
    message: 'Required together with `apiKeySecret`.',
  })
  .refine(({ apiKeySid, apiKeySecret }) => apiKeySecret !== undefined || apiKeySid === undefined, {
    path: ['apiKeySecret'],
    when,
    message: 'Required together with `apiKeySid`.',
  });
type Config = z.infer<typeof config>;

export const twilio = defineConnector({
  type: 'twilio',
  title: 'Twilio SMS',
  category: 'Communication',
  description: 'Sends an SMS for every event through your Twilio account. Twilio charges you for each SMS.',
  documentationUrl: 'https://www.twilio.com/docs/messaging/quickstart',
  config,
  supportsEvent: () => true,
  // Twilio has no idempotency key and charges for duplicates, so if an earlier attempt's request may have arrived, look
  // for its message first. It may have arrived even if only a later attempt, such as a lookup, got an error.
  build: ([event], settings, context) =>
    context.previousAttemptAmbiguous || context.isRetry
      ? listMessages(settings, 'lookup')
      : sendMessage(settings, describeEvent(event, context)),
  classify,
  probe: {
    // Only the auth token and main API keys can read the account. Every key that this connector can use reads messages.
    build: (settings) =>
      settings.apiKeySid === undefined
        ? { method: 'GET', url: accountUrl(settings, '.json'), headers: { authorization: basicAuth(settings) } }
        : listMessages(settings, 'messages', 1),
    classify: (response, settings, step) =>
      step === 'messages' ? classifyKeyProbe(response, settings) : classifyAccountProbe(response, settings),
  },
});

function classifyAccountProbe(response: ConnectorResponse, settings: Config): ProbeOutcome {
  const status = valueAt(parseJson(response.body), 'status');
  if (response.statusCode === 200 && status === 'active') {
    return { ok: true, message: 'The Twilio account is active. Nothing was sent.' };
  }
  if (response.statusCode === 200) return { ok: false, message: 'The Twilio account is suspended or closed.' };
  return failedProbe('Twilio', refusal(response, settings, 'read the account'));
}

function classifyKeyProbe(response: ConnectorResponse, settings: Config): ProbeOutcome {
  if (response.statusCode === 200 && Array.isArray(valueAt(parseJson(response.body), 'messages'))) {
    return {
      ok: true,
      message:
        'The Twilio API key can read messages. Twilio checks whether it can create them when it sends the first SMS.',
    };
  }
  return failedProbe('Twilio', refusal(response, settings, 'read messages'));
}

function classify(response: ConnectorResponse, context: ClassifyContext<Config>): Outcome {
  if (context.step !== 'send') return classifyList(response, context);
  const json = parseJson(response.body);
  const isTaken = response.statusCode === 201 && typeof valueAt(json, 'sid') === 'string';
  if (isTaken) {
    const code = valueAt(json, 'error_code');
    if (valueAt(json, 'status') !== 'failed' && !code) {
      return {
        kind: 'delivered',
        note: 'Twilio accepted the SMS. Check the Twilio log to see whether it was delivered.',
      };
    }
    return byCode(code) ?? { kind: 'drop', reason: reason(`The SMS failed immediately${withCode(code)}.`) };
  }
  // Twilio may have sent a message even if it returned 500 or an unknown success status.
  if (response.statusCode < 300 || (response.statusCode >= 500 && response.statusCode !== 503)) {
    return { kind: 'next', request: listMessages(context.config, 'lookup after error') };
  }
  return refusal(response, context.config, 'create messages', context.now);
}

/** Looks for this event's SMS among the latest messages to the number. */
function classifyList(response: ConnectorResponse, context: ClassifyContext<Config>): Outcome {
  const messages = valueAt(parseJson(response.body), 'messages');
  if (response.statusCode !== 200 || !Array.isArray(messages)) {
    const outcome = refusal(response, context.config, 'read messages', context.now);
    return outcome.kind === 'delivered' ? retry("Twilio didn't report whether the SMS was sent.") : outcome;
  }
  const eventId = context.events[0]!.id;
  const isSent = messages.some((message) => String(valueAt(message, 'body') ?? '').includes(eventId));
  if (isSent) return { kind: 'delivered', note: 'An earlier attempt already sent the SMS.' };
  if (context.step === 'lookup after error') return retry("Twilio couldn't send the SMS right now.");
  return { kind: 'next', request: sendMessage(context.config, describeEvent(context.events[0]!, context)) };
}

function withCode(code: unknown): string {
  return typeof code === 'number' ? ` (Twilio error ${code})` : '';
}

function sendMessage(settings: Config, message: Message): ConnectorRequest {
  const { from, to } = settings;
  const body = new URLSearchParams({
    To: to,
    ...(/^MG[0-9a-fA-F]{32}$/.test(from) ? { MessagingServiceSid: from } : { From: from }),
    Body: renderSms(message),
    ValidityPeriod: String(VALIDITY_SECONDS),
  });
  return {
    method: 'POST',
    url: accountUrl(settings, '/Messages.json'),
    headers: { authorization: basicAuth(settings), 'content-type': 'application/x-www-form-urlencoded' },
    body: body.toString(),
    step: 'send',
  };
}

/** A list of a hundred messages usually takes about 100 KB. If it were cut off, it wouldn't show whether the SMS was sent. */
const MAX_LIST_BYTES = 1_048_576;

function listMessages(settings: Config, step: string, most = 100): ConnectorRequest {
  const query = new URLSearchParams({ To: settings.to, PageSize: String(most) });
  return {
    method: 'GET',
    url: `${accountUrl(settings, '/Messages.json')}?${query}`,
    headers: { authorization: basicAuth(settings) },
    maxResponseBytes: MAX_LIST_BYTES,
    step,
  };
}

/**
 * One SMS with the title, amount, link, and event ID. If it is too long, the link is dropped first, and then the title
 * is cut.
 */
function renderSms({ title, amount, url, eventId }: Message): string {
  const headline = toGsmText(amount && !title.includes(amount) ? `${title}, ${amount}` : title);
  const link = url && /^[\x21-\x7e]+$/.test(url) ? url : undefined;
  const tails = [link?.includes(eventId) ? [link] : [link, eventId], [eventId]];
  const fitting = tails
    .map((tail) => tail.filter((line) => line !== undefined).join('\n'))
    .find((tail) => gsmLength(tail) < SMS_LENGTH - Math.min(gsmLength(headline), MIN_TITLE_LENGTH));
  const tail = fitting ?? eventId;
  return `${cutGsmText(headline, SMS_LENGTH - gsmLength(tail) - 1)}\n${tail}`;
}

function accountUrl({ accountSid, region = 'us1' }: Config, rest: string): string {
  return `${HOSTS[region]}/2010-04-01/Accounts/${accountSid}${rest}`;
}

/** https://www.twilio.com/docs/iam/api-keys */
function basicAuth({ accountSid, authToken, apiKeySid, apiKeySecret }: Config): string {
  const credentials = apiKeySid === undefined ? `${accountSid}:${authToken}` : `${apiKeySid}:${apiKeySecret}`;
  return `Basic ${Buffer.from(credentials).toString('base64')}`;
}
