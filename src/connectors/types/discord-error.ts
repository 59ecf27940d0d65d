import type { Outcome } from '../definition.ts';
import { reason, retry, valueAt } from '../shared/classify.ts';

/** https://docs.discord.com/developers/topics/opcodes-and-status-codes#json */
const ERROR_CODES: Readonly<Record<number, Outcome>> = {
  10003: { kind: 'disable', reason: 'The Discord channel no longer exists.' },
  10004: { kind: 'disable', reason: 'The Discord server no longer exists.' },
  10015: { kind: 'disable', reason: 'The Discord webhook was deleted. Create a new one and save its URL.' },
  10087: pause("A Discord tag in the connector's settings no longer exists. Replace it."),
  40004: retry('Discord has temporarily turned off sending messages.'),
  40006: retry('Discord has temporarily turned off webhooks.'),
  ...sameFor(
    [40058, 220001],
    pause("This Discord channel accepts only posts. Save a post's thread ID, or a post name."),
  ),
  40066: pause('Only moderators can set the tags of this Discord channel. Allow everyone to set at least one tag.'),
  40067: pause('This Discord channel requires a tag for every post. Save the ID of a tag.'),
  50027: pause('Discord rejected the token in the webhook URL. Copy the URL again.'),
  50083: pause('The Discord thread is archived. Unarchive it, or save the ID of another thread.'),
  160005: pause('The Discord thread is locked. Unlock it, or save the ID of another thread.'),
  160006: pause('The Discord server has too many active threads. Archive some of them.'),
  ...sameFor([200000, 200001], {
    kind: 'drop',
    reason: "The Discord server's moderation settings blocked the message.",
  }),
  220002: pause("A Discord post can't have both a thread ID and a name. Remove one of them."),
  220003: pause("This Discord channel isn't a forum or media channel. Remove the post name and the tags."),
  220004: pause("Discord doesn't allow this webhook in forum channels. Create an incoming webhook."),
  240000: { kind: 'drop', reason: "Discord's link filter blocked the message." },
};

/** The thread may be deleted, or the ID may be wrong. Either way, the webhook works, and another ID can be saved. */
const MISSING_THREAD = pause("Discord can't find the thread in this channel. Save the ID of another thread.");

/**
 * What one of Discord's error codes means; undefined for other codes.
 *
 * @param hasThread whether the connector posts to an existing thread.
 */
export function discordError(code: unknown, hasThread: boolean): Outcome | undefined {
  if (code === 10003 && hasThread) return MISSING_THREAD;
  return typeof code === 'number' && Object.hasOwn(ERROR_CODES, code) ? ERROR_CODES[code] : undefined;
}

/** What code 50035 means: the post's name or a tag can be changed, but the rest is the same for every connector. */
export function rejectedForm(json: unknown): Outcome {
  const path = rejectedField(json);
  const text = reason(`Discord rejected the message${path.length > 0 ? ` (${path.join('.')})` : ''}.`);
  return path[0] === 'thread_name' || path[0] === 'applied_tags' ? pause(text) : { kind: 'drop', reason: text };
}

/** Discord reports the rejected field as a tree, such as `{"errors":{"embeds":{"0":{"title":{"_errors":[…]}}}}}`. */
function rejectedField(json: unknown): string[] {
  const path: string[] = [];
  let node = valueAt(json, 'errors');
  while (typeof node === 'object' && node !== null && path.length < 6) {
    const key = Object.keys(node)[0];
    if (!key || !/^[A-Za-z0-9]\w{0,30}$/.test(key)) break;
    path.push(key);
    node = valueAt(node, key);
  }
  return path;
}

function pause(text: string): Outcome {
  return { kind: 'pause', reason: text };
}

function sameFor(codes: readonly number[], outcome: Outcome): Record<number, Outcome> {
  return Object.fromEntries(codes.map((code) => [code, outcome]));
}
