import { z } from 'zod';
import { type ClassifyContext, defineConnector, type Outcome } from '../definition.ts';
import type { ConnectorRequest, ConnectorResponse } from '../exchange.ts';
import { secretField, textOrNumberField } from '../fields.ts';
import { classifyByStatus, failedProbe, parseJson, retry, valueAt, vendorText } from '../shared/classify.ts';
import { describeEvent, type Message, utcTime } from '../shared/message.ts';
import { escapeHtml } from '../shared/plain-text.ts';

const config = z.strictObject({
  botToken: secretField({
    title: 'Bot token',
    description: 'The bot token from BotFather. The bot must be a member of the chat.',
    example: '110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1',
    pattern: /^\d+:[\w-]{30,}$/,
    hint: 'Must be the full token from BotFather, such as 110201543:AAHdqTcv….',
  }),
  chatId: textOrNumberField({
    title: 'Chat ID',
    description: "The chat's numeric ID (which starts with -100 for groups and channels), or a public chat's @name.",
    example: '-1001234567890',
    pattern: /^(-?\d{1,20}|@[A-Za-z]\w{3,31})$/,
    hint: 'Must be a number such as -1001234567890 or a public name such as @my_channel.',
  }),
  messageThreadId: textOrNumberField({
    title: 'Topic ID',
    description: 'For a group with topics: the ID of the topic (message_thread_id). Default: the General topic.',
    example: '42',
    pattern: /^[1-9]\d{0,9}$/,
    hint: 'Must be a number such as 42.',
  }).optional(),
});
type Config = z.infer<typeof config>;

/** Telegram doesn't accept the ID of the General topic. Messages without an ID go there. */
const GENERAL_TOPIC = '1';

const MISSING = "Telegram's API isn't at its usual address (HTTP 404). Check the bot token.";

/**
 * Outcomes by Telegram's `description`, because there are no error codes other than the status. The first match wins.
 */
const REFUSALS: readonly { says: RegExp; outcome: Outcome }[] = [
  {
    says: /group chat was deleted|user is deactivated|USER_DEACTIVATED/i,
    outcome: { kind: 'disable', reason: 'The Telegram chat or its user was deleted. Save the ID of another chat.' },
  },
  {
    says: /bot was blocked|bot was kicked|bot is not a member|can't initiate conversation/i,
    outcome: pause('The Telegram bot was removed from the chat or blocked. Add it again, or unblock it.'),
  },
  {
    says: /chat not found|PEER_ID_INVALID|CHANNEL_(INVALID|PRIVATE)/i,
    outcome: pause("Telegram can't find the chat. Check the chat ID, and make sure the bot is a member."),
  },
  {
    says: /TOPIC_CLOSED/i,
    outcome: pause('The Telegram topic is closed. Reopen it, or save the ID of another topic.'),
  },
  // The topic may be deleted, or the ID may be wrong. Either way, the chat still works, and another ID can be saved.
  {
    says: /message thread not found|TOPIC_DELETED|TOPIC_ID_INVALID/i,
    outcome: pause("Telegram can't find the topic in this chat. Save the ID of another topic, or remove the ID."),
  },
  {
    says: /not enough rights|have no rights|CHAT_WRITE_FORBIDDEN|CHAT_SEND_\w+_FORBIDDEN|CHAT_RESTRICTED|CHAT_ADMIN_REQUIRED|USER_BANNED_IN_CHANNEL|need administrator rights/i,
    outcome: pause("The Telegram bot can't post in this chat. Give it permission to post."),
  },
  {
    says: /can't parse entities|message is too long|message text is empty/i,
    outcome: { kind: 'drop', reason: 'Telegram rejected the message.' },
  },
];

export const telegram = defineConnector({
  type: 'telegram',
  title: 'Telegram',
  category: 'Communication',
  description: 'Sends every event to a Telegram chat, group, or channel.',
  documentationUrl: 'https://core.telegram.org/bots/features#botfather',
  config,
  supportsEvent: () => true,
  // The limit for groups. In a private chat, Telegram accepts one message per second and allows short bursts.
  vendorLimit: {
    count: 20,
    perSeconds: 60,
    burst: 3,
    documentationUrl: 'https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this',
  },
  build: ([event], settings, context) =>
    sendMessage(settings, context.memory[movedKey(settings.chatId)] ?? settings.chatId, describeEvent(event, context)),
  classify,
  probe: {
    build: ({ botToken }) => ({ method: 'GET', url: methodUrl(botToken, 'getMe'), headers: {}, step: 'bot' }),
    classify: (response, { botToken, chatId }, step) => {
      const json = parseJson(response.body);
      if (valueAt(json, 'ok') !== true) return failedProbe('Telegram', classifyRefusal(response, json, botToken));
      if (step === 'bot') {
        const url = `${methodUrl(botToken, 'getChat')}?chat_id=${encodeURIComponent(chatId)}`;
        return { next: { method: 'GET', url, headers: {}, step: 'chat' } };
      }
      return { ok: true, message: 'The Telegram bot works and has access to the chat. Nothing was posted.' };
    },
  },
});

/**
 * A group that becomes a supergroup gets a new ID. Telegram returns it with the error, so this message and later ones
 * are sent to the new ID.
 */
function classify(response: ConnectorResponse, context: ClassifyContext<Config>): Outcome {
  const json = parseJson(response.body);
  if (response.statusCode === 200 && valueAt(json, 'ok') === true) return { kind: 'delivered' };
  const movedTo = valueAt(json, 'parameters', 'migrate_to_chat_id');
  if (typeof movedTo === 'number' && Number.isSafeInteger(movedTo) && context.step === 'send') {
    const { chatId } = context.config;
    return {
      kind: 'next',
      request: {
        ...sendMessage(context.config, String(movedTo), describeEvent(context.events[0]!, context)),
        step: 'moved',
      },
      remember: { [movedKey(chatId)]: String(movedTo) },
    };
  }
  return classifyRefusal(response, json, context.config.botToken, context.now);
}

function classifyRefusal(response: ConnectorResponse, json: unknown, botToken: string, now?: Date): Outcome {
  // A proxy may hide the status, so the code in the body is checked too.
  const code = valueAt(json, 'error_code');
  const statusCode = response.statusCode === 200 && typeof code === 'number' ? code : response.statusCode;
  const description = vendorText(valueAt(json, 'description'), [botToken]);
  const wait = valueAt(json, 'parameters', 'retry_after');
  if (statusCode === 429 && typeof wait === 'number')
    return retry('Telegram is rate limiting requests (HTTP 429).', wait);
  if (statusCode === 401 || (statusCode === 404 && json !== undefined)) {
    return {
      kind: 'pause',
      reason: 'Telegram rejected the bot token. Get the current token from BotFather and save it.',
    };
  }
  if (statusCode === 400 || statusCode === 403) {
    const refusal = REFUSALS.find(({ says }) => says.test(description));
    if (refusal) return refusal.outcome;
  }
  // The token is the only credential and was accepted, so this 403 concerns the chat.
  if (statusCode === 403 && description)
    return pause("Telegram doesn't allow the bot to post in this chat. Check its permissions.");
  if (statusCode < 300) return retry('Telegram responded without confirming the message.');
  return classifyByStatus('Telegram', { ...response, statusCode }, { detail: description, missing: MISSING, now });
}

function pause(text: string): Outcome {
  return { kind: 'pause', reason: text };
}

function sendMessage({ botToken, messageThreadId }: Config, chatId: string, message: Message): ConnectorRequest {
  return {
    method: 'POST',
    url: methodUrl(botToken, 'sendMessage'),
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      chat_id: chatId,
      ...(messageThreadId !== undefined &&
        messageThreadId !== GENERAL_TOPIC && { message_thread_id: Number(messageThreadId) }),
      text: renderText(message),
      parse_mode: 'HTML',
      link_preview_options: { is_disabled: true },
    }),
  };
}

/**
 * Telegram turns `@names`, `#tags`, `/commands`, and URLs in plain text into links, and notifies the members whose
 * names appear. It doesn't do so inside `<code>`, so all data goes there.
 */
function renderText({ heading, detail, facts, url, transactionUrl, eventId, at }: Message): string {
  return [
    `<b>${escapeHtml(heading)}</b>`,
    ...(detail ? [`<code>${escapeHtml(detail)}</code>`] : []),
    '',
    ...facts.map(({ label, value }) => `${escapeHtml(label)}: <code>${escapeHtml(value)}</code>`),
    '',
    `<code>${escapeHtml(eventId)}</code>, ${utcTime(at)}`,
    ...(transactionUrl ? [`<a href="${transactionUrl}">View the transaction</a>`] : []),
    ...(url ? [`<a href="${escapeHtml(url)}">Open in the console</a>`] : []),
  ].join('\n');
}

function methodUrl(botToken: string, method: string): string {
  return `https://api.telegram.org/bot${botToken}/${method}`;
}

function movedKey(chatId: string): string {
  return `chat ${chatId} moved to`;
}
