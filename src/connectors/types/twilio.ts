import { z } from 'zod';
import {
  type ClassifyContext,
  type ConnectorRequest,
  type ConnectorResponse,
  defineConnector,
  type Outcome,
} from '../definition.ts';
import { choiceField, headerSecretField, textField } from '../fields.ts';
import { classifyByStatus, failedProbe, parseJson, reason, retry, valueAt } from '../shared/classify.ts';
import { describeEvent, type Message } from '../shared/message.ts';
import { cutGsmText, gsmLength, toGsmText } from './gsm-text.ts';

const SMS_LENGTH = 160;
const MIN_TITLE_LENGTH = 60;
const VALIDITY_SECONDS = 4 * 60 * 60;

/** Each region has its own host and its own auth token. */
const HOSTS = { us1: 'https://api.twilio.com', ie1: 'https://api.dublin.ie1.twilio.com' } as const;

const config = z.strictObject({
  accountSid: textField({
    title: 'Account SID',
    description: "Your Twilio account's SID.",
    example: 'AC00000000000000000000000000000000',
    pattern: /^AC[0-9a-fA-F]{32}$/,
    hint: 'Must be an account SID: "AC" followed by 32 hexadecimal digits.',
  }),
  authToken: headerSecretField({
    title: 'Auth token',
    description: "Your Twilio account's auth token.",
  }),
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
    description: 'The Twilio region of the account and its auth token: us1 (default) or ie1.',
    example: 'us1',
    decidesAddress: true,
  }).optional(),
});
type Config = z.infer<typeof config>;

/** https://www.twilio.com/docs/api/errors. Errors use the same codes as messages that failed immediately. */
const ERROR_CODES: Readonly<Record<number, Outcome>> = {
  20003: pause('Twilio rejected the account SID and auth token. Check both, and the region.'),
  20008: pause("These are test credentials, which can't send to this number. Use live credentials."),
  21211: disable('The recipient\'s number isn\'t valid. Change "To".'),
  21610: disable('The recipient opted out by replying STOP. They must text START to your number to opt in again.'),
  21614: disable('The recipient\'s number isn\'t a mobile number. Change "To".'),
  21212: pause('Twilio rejected the sender. Change "From".'),
  21408: pause("Your Twilio account can't send SMS to this country. Allow it under Geo permissions in Twilio."),
  21606: pause('This sender can\'t send SMS to the recipient\'s number. Change "From".'),
  21608: pause('A Twilio trial account can only send to verified numbers. Verify the number or upgrade the account.'),
  21659: pause('The sender isn\'t one of this Twilio account\'s numbers. Change "From".'),
  21660: pause('The sender belongs to another Twilio account. Change "From".'),
};

export const twilio = defineConnector({
  type: 'twilio',
  title: 'Twilio SMS',
  category: 'Communication',
  description: 'Sends an SMS for every event through your Twilio account. Twilio charges you for each SMS.',
  documentationUrl: 'https://www.twilio.com/docs/messaging/quickstart',
  config,
  carries: () => true,
  // Twilio has no idempotency key and charges for duplicates, so if the last attempt's request may have arrived, look
  // for its message first.
  build: ([event], settings, context) =>
    context.previousAttemptAmbiguous
      ? listMessages(settings, 'lookup')
      : sendMessage(settings, describeEvent(event, context)),
  classify,
  probe: {
    build: (settings) => ({
      method: 'GET',
      url: accountUrl(settings, '.json'),
      headers: { authorization: basicAuth(settings) },
    }),
    classify: (response) => {
      const status = valueAt(parseJson(response.body), 'status');
      if (response.statusCode === 200 && status === 'active') {
        return { ok: true, message: 'The Twilio account is active. Nothing was sent.' };
      }
      if (response.statusCode === 200) return { ok: false, message: 'The Twilio account is suspended or closed.' };
      return failedProbe('Twilio', refusal(response));
    },
  },
});

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
  return refusal(response, context.now);
}

/** Looks for this event's SMS among the latest messages to the number. */
function classifyList(response: ConnectorResponse, context: ClassifyContext<Config>): Outcome {
  const messages = valueAt(parseJson(response.body), 'messages');
  if (response.statusCode !== 200 || !Array.isArray(messages)) {
    const outcome = refusal(response, context.now);
    return outcome.kind === 'delivered' ? retry("Twilio didn't report whether the SMS was sent.") : outcome;
  }
  const eventId = context.events[0]!.id;
  const isSent = messages.some((message) => String(valueAt(message, 'body') ?? '').includes(eventId));
  if (isSent) return { kind: 'delivered', note: 'An earlier attempt already sent the SMS.' };
  if (context.step === 'lookup after error') return retry("Twilio couldn't send the SMS right now.");
  return { kind: 'next', request: sendMessage(context.config, describeEvent(context.events[0]!, context)) };
}

function refusal(response: ConnectorResponse, now?: Date): Outcome {
  const code = valueAt(parseJson(response.body), 'code');
  if (response.statusCode >= 400 && response.statusCode < 500 && response.statusCode !== 429) {
    const known = byCode(code);
    if (known) return known;
  }
  const detail = typeof code === 'number' ? `Twilio error ${code}` : undefined;
  return classifyByStatus('Twilio', response, { detail, now });
}

function byCode(code: unknown): Outcome | undefined {
  return ERROR_CODES[Number(code)];
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

function listMessages(settings: Config, step: string): ConnectorRequest {
  const query = new URLSearchParams({ To: settings.to, PageSize: '100' });
  return {
    method: 'GET',
    url: `${accountUrl(settings, '/Messages.json')}?${query}`,
    headers: { authorization: basicAuth(settings) },
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

function basicAuth({ accountSid, authToken }: Config): string {
  return `Basic ${Buffer.from(`${accountSid}:${authToken}`).toString('base64')}`;
}

function pause(text: string): Outcome {
  return { kind: 'pause', reason: text };
}

function disable(text: string): Outcome {
  return { kind: 'disable', reason: text };
}
