import type { Outcome } from '../definition.ts';
import { type Booking, heldBooking, rejectedBooking } from '../shared/booking.ts';
import { reason, vendorText } from '../shared/classify.ts';
import { CONTACT_NAME, type Config } from './xero-api.ts';

/** What a validation message says, and how to fix it. Xero's messages have no codes. The first match counts. */
type Rule = { words: RegExp; isBankOnly?: true } & (
  | { pause: string }
  /** Other days are still accepted. */
  | { hold: (booking: Booking) => string }
);

const RULES: readonly Rule[] = [
  {
    // "The document date cannot be before the period lock date, currently set at …", or "… the end of year lock date …".
    words: /\block date|locked period|period (?:is|has been) locked/i,
    hold: ({ date }) => `Set the lock dates in Xero's financial settings to before ${date}`,
  },
  // Every entry would be rejected, because all of them have the same currency, contact, and accounts.
  {
    words: /not subscribed to currency/i,
    pause: "The organization doesn't have USD as a currency. Add it in Xero, then save this connector.",
  },
  {
    words: /\bcontact\b[^.]{0,200}\barchived\b|\barchived contact\b/i,
    pause: `Restore the contact "${CONTACT_NAME}" in Xero, then save this connector.`,
  },
  { words: /account/i, isBankOnly: true, pause: 'Check the account codes, and the accounts in Xero.' },
  {
    words: /\b(?:archived|inactive|deleted|voided|locked)\b|not of valid status|cannot be edited/i,
    hold: () => 'Restore or unlock the Xero item that this entry refers to',
  },
];

/** The outcome if Xero rejects an invoice or a bank transaction with these validation messages. */
export function classifyRejection(messages: readonly string[], booking: Booking, config: Config): Outcome {
  const { accessToken, bankAccountCode } = config;
  for (const rule of RULES) {
    const message = messages.find((text) => rule.words.test(text));
    if (message === undefined || (rule.isBankOnly && bankAccountCode === undefined)) continue;
    const from = { vendor: 'Xero', message, secrets: [accessToken] };
    if ('hold' in rule) return heldBooking(booking, rule.hold(booking), from);
    return { kind: 'pause', reason: reason(`${rule.pause} Xero returned: ${vendorText(message, [accessToken])}`) };
  }
  return rejectedBooking(booking, { vendor: 'Xero', message: messages[0], secrets: [accessToken] });
}
