import { Transform } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { didYouMean } from '../did-you-mean.ts';
import { EVENT_TYPES, type EventType } from '../events/types.ts';
import type { EventType as EventTypeEnum } from '../generated/cli-documents.ts';
import { Failure } from './failure.ts';

/**
 * Text with each control character as an escape, such as `\u001b`, except in line breaks and tabs. Otherwise, text from
 * outside could move the cursor, hide text, reverse its direction, or reconfigure the terminal. JSON stays equivalent,
 * because its strings use the same escapes.
 */
export function visible(text: string): string {
  return text.replaceAll(
    /(?!\r\n)[^\n\t\P{Cc}]|[\u2028-\u202E\u2066-\u2069]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Makes UTF-8 text visible as it passes through, for a terminal. */
export function createVisibleText(): Transform {
  const decoder = new StringDecoder('utf8');
  let held = '';
  return new Transform({
    transform(chunk: Buffer, _encoding, callback) {
      const text = held + decoder.write(chunk);
      // The next chunk may start with the rest of a line break.
      held = text.endsWith('\r') ? '\r' : '';
      callback(null, visible(held ? text.slice(0, -1) : text));
    },
    flush(callback) {
      callback(null, visible(held + decoder.end()));
    },
  });
}

/** Prints a result. Only results go to standard output. */
export function print(text: string): void {
  process.stdout.write(`${visible(text)}\n`);
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value));
}

/** Prints a human-readable message to standard error. */
export function note(text: string): void {
  process.stderr.write(`${visible(text)}\n`);
}

/** An event type's public name: `payment.settled` for `PAYMENT_SETTLED`. */
export function typeNameOf(type: EventTypeEnum): EventType {
  return EVENT_TYPES.find((eventType) => enumNameOf(eventType) === type)!;
}

/** @throws Failure that suggests a similar event type or lists all of them. */
export function eventTypeNameOf(text: string): EventType {
  const eventType = EVENT_TYPES.find((known) => known === text);
  if (eventType) return eventType;
  const advice = didYouMean(text, EVENT_TYPES) || ` Use one of ${EVENT_TYPES.join(', ')}.`;
  throw new Failure('usage', `Unknown event type "${text}".${advice}`);
}

/** @throws Failure that suggests a similar event type or lists all of them. */
export function eventTypeEnumOf(text: string): EventTypeEnum {
  return enumNameOf(eventTypeNameOf(text)) as EventTypeEnum;
}

function enumNameOf(kind: string): string {
  return kind.toUpperCase().replaceAll('.', '_');
}

/** Splits `a,b,c` into items. */
export function listOf(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean);
}

const UNIT_MILLISECONDS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Parses a time: a duration before now (`90s`, `30m`, `2h`, `7d`) or ISO 8601. @throws Failure for anything else. */
export function timeOf(text: string, option: string): string {
  const [, amount, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const milliseconds = amount ? Date.now() - Number(amount) * UNIT_MILLISECONDS[unit!]! : Date.parse(text);
  if (Number.isNaN(milliseconds)) {
    throw new Failure(
      'usage',
      `${option} must be a duration such as 30m, 2h, or 7d, or a timestamp such as 2026-01-02T03:04:05Z.`,
    );
  }
  return new Date(milliseconds).toISOString();
}

/** The time in an option that may have been passed by its former name. @throws Failure like `timeOf`. */
export function givenTime<Name extends string>(
  options: Readonly<Partial<Record<Name, string>>>,
  name: Name,
  olderName: Name,
): string | undefined {
  const used = options[name] === undefined ? olderName : name;
  const text = options[used];
  return text === undefined ? undefined : timeOf(text, `--${used}`);
}

/** Parses a positive number of seconds. @throws Failure for anything else. */
export function secondsOf(text: string, option: string): number {
  if (!/^\d{1,6}$/.test(text) || Number(text) === 0) {
    throw new Failure('usage', `${option} must be a number of seconds, such as 30.`);
  }
  return Number(text);
}

/** The local time of day, for live output. */
export function clock(time: Date = new Date()): string {
  return time.toTimeString().slice(0, 8);
}
