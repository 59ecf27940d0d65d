import { z } from 'zod';
import { type FieldMeta, fieldMeta } from '../fields.ts';
import { type Message, type Tone, utcTime } from './message.ts';
import { escapeHtml } from './plain-text.ts';

export type Mailbox = { email: string; name?: string };

export type Mail = { subject: string; text: string; html: string };

const MAX_ADDRESS_LENGTH = 254;
const ADDRESS = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z0-9-]{2,63}$/;
const NAMED = /^(?:"(?<quoted>(?:[^"\\]|\\.)*)"|(?<plain>[^"<>,;:@\\]*))\s*<(?<email>[^<>\s]+)>$/;
/** Control characters, which could start another header, and lone surrogates. */
export const UNWRITABLE = /[\p{Cc}\p{Cs}]/u;
const MAILBOX_HINT = 'Must be an address such as "alerts@example.com" or "Alerts <alerts@example.com>".';

const TONE_COLORS: Readonly<Record<Tone, string>> = {
  info: '#2f6fde',
  success: '#1a8a4f',
  warning: '#b7791f',
  danger: '#c53030',
};

/**
 * Reads `a@b.example`, `Name <a@b.example>`, or `"Doe, Jane" <a@b.example>` (RFC 5322 mailboxes without comments).
 *
 * @returns undefined for anything else, including text that could inject a second header or address.
 */
export function parseMailbox(text: string): Mailbox | undefined {
  const trimmed = text.trim();
  // Also limits the spaces, because the text is stored as it is.
  if (text.length > 2 * MAX_ADDRESS_LENGTH || UNWRITABLE.test(text)) return undefined;
  const named = NAMED.exec(trimmed)?.groups;
  const email = named?.email ?? trimmed;
  if (email.length > MAX_ADDRESS_LENGTH || !ADDRESS.test(email)) return undefined;
  const name = (named?.quoted?.replace(/\\(.)/g, '$1') ?? named?.plain ?? '').trim();
  return name ? { email, name } : { email };
}

/** Splits a list at commas outside quotes: `"Doe, Jane" <j@x.example>, a@b.example` has two entries. */
export function splitMailboxes(list: string): string[] {
  const parts = list.match(/(?:"(?:[^"\\]|\\.)*"?|[^",])+/g) ?? [];
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}

/** A config field for a single sender or recipient. */
export function mailboxField(meta: FieldMeta) {
  return z
    .string()
    .refine((value) => parseMailbox(value) !== undefined, MAILBOX_HINT)
    .register(fieldMeta, meta);
}

/** A config field for an array of recipients. */
export function mailboxListField(meta: FieldMeta, maxRecipients: number) {
  return z
    .array(z.string().refine((value) => parseMailbox(value) !== undefined, MAILBOX_HINT))
    .min(1, 'Add at least one recipient.')
    .max(maxRecipients, `Add at most ${maxRecipients} recipients.`)
    .register(fieldMeta, meta);
}

/** A message as an email. The HTML part has the same content as the text part, with formatting. */
export function renderMail(message: Message): Mail {
  return { subject: message.title, text: renderText(message), html: renderHtml(message) };
}

function renderText({ title, facts, url, transactionUrl, eventId, at }: Message): string {
  return [
    title,
    '',
    ...facts.map(({ label, value }) => `${label}: ${value}`),
    '',
    ...(transactionUrl ? [`View the transaction: ${transactionUrl}`] : []),
    ...(url ? [`Open in the console: ${url}`] : []),
    `Event ${eventId}, ${utcTime(at)}`,
  ].join('\n');
}

function renderHtml({ heading, detail, tone, facts, url, transactionUrl, eventId, at }: Message): string {
  const rows = facts.map(
    ({ label, value }) =>
      `<tr><td style="padding:4px 16px 4px 0;color:#6b7280;white-space:nowrap;vertical-align:top">${escapeHtml(label)}</td>` +
      `<td style="padding:4px 0;word-break:break-word">${escapeHtml(value)}</td></tr>`,
  );
  const link = (target: string | undefined, text: string) =>
    target ? [`<a href="${escapeHtml(target)}" style="color:${TONE_COLORS[tone]}">${text}</a>`] : [];
  const links = [...link(url, 'Open in the console'), ...link(transactionUrl, 'View the transaction')];
  return [
    '<!doctype html><html lang="en"><body style="margin:0;padding:24px;font:15px/1.5 -apple-system,\'Segoe UI\',Roboto,sans-serif">',
    `<div style="max-width:560px;border-left:4px solid ${TONE_COLORS[tone]};padding:4px 0 4px 20px">`,
    `<h1 style="margin:0;font-size:18px">${escapeHtml(heading)}</h1>`,
    `<p style="margin:4px 0 16px;font-size:16px">${escapeHtml(detail)}</p>`,
    `<table role="presentation" style="border-collapse:collapse">${rows.join('')}</table>`,
    ...(links.length > 0 ? [`<p style="margin:20px 0 0">${links.join(' &nbsp; ')}</p>`] : []),
    `<p style="margin:20px 0 0;color:#6b7280;font-size:12px">Event ${escapeHtml(eventId)}, ${utcTime(at)}</p>`,
    '</div></body></html>',
  ].join('\n');
}
